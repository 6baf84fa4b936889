// An answer: the choice, a bar for each option, and what says how far to believe it.

const place = document.getElementById("answer");
const template = document.getElementById("answer-template");
const LOW_MASS = 0.1;
const SORTED_FROM = 7;

/** A share in words: 76.7 %. */
export const percent = (share) => {
  if (share > 0 && share < 0.001) return "< 0.1 %";
  if (share < 1 && share > 0.999) return "> 99.9 %";
  return `${(100 * share).toFixed(1)} %`;
};

/** Seconds in words: 240 ms. */
export const duration = (value) => (value < 1 ? `${Math.round(1000 * value)} ms` : `${value.toFixed(1)} s`);

/** The results of an answer, in the order asked. */
export const resultsOf = (answer) => answer.results ?? [answer.result];

/** The likeliest option of a result: its index, the first of those that are equal. */
export const likeliest = ({ probabilities }) => probabilities.indexOf(Math.max(...probabilities));

/** What came out, in a few words: account, 76.7 %. */
export const summary = (results) =>
  results
    .map((result) => `${result.option_ids[likeliest(result)]}, ${percent(Math.max(...result.probabilities))}`)
    .join("; ");

/** Show `results` of what `form` asked. */
export const show = (form, results) => {
  place.classList.remove("old");
  place.replaceChildren(...results.map((result, index) => articleOf(form.questions[index], result)));
};

/** Say that the form has changed since. */
export const outdate = () => place.classList.toggle("old", place.childElementCount > 0);

const element = (name, className, text) => {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
};

const articleOf = (asked, result) => {
  const article = template.content.firstElementChild.cloneNode(true);
  const best = likeliest(result);
  article.querySelector(".asked").textContent = asked?.question ?? result.id;
  article.querySelector(".choice strong").textContent = result.option_ids[best];
  article.querySelector(".choice span").textContent = percent(result.probabilities[best]);
  fillBars(article, asked, result);
  article.querySelector(".measures").append(...measures(asked, result).flatMap(measureOf));
  const hint = hintOf(asked, result);
  article.querySelector(".hint").textContent = hint;
  article.querySelector(".hint").hidden = !hint;
  article.querySelector(".status").textContent = result.probability_status ?? "";
  return article;
};

const fillBars = (article, asked, result) => {
  const bars = article.querySelector(".bars");
  const best = likeliest(result);
  const rows = result.probabilities.map((share, index) => {
    const row = element("li", index === best ? "best" : "");
    const description = asked?.options[index]?.description ?? "";
    const id = result.option_ids[index];
    row.append(element("span", "id", id), element("span", "description", description === id ? "" : description));
    row.append(element("span", "share", percent(share)));
    const bar = element("span", "bar");
    bar.setAttribute("aria-hidden", "true");
    bar.append(element("span"));
    bar.firstChild.style.inlineSize = `${100 * share}%`;
    row.append(bar);
    return row;
  });
  bars.append(...rows);
  if (rows.length >= SORTED_FROM) article.querySelector(".choice").after(sorter(bars, rows, result.probabilities));
};

const sorter = (bars, rows, shares) => {
  const button = element("button", "quiet", "Likeliest first");
  button.type = "button";
  button.setAttribute("aria-pressed", "false");
  button.addEventListener("click", () => {
    const isSorted = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(isSorted));
    const order = rows.map((row, index) => [row, shares[index]]);
    if (isSorted) order.sort(([, one], [, other]) => other - one);
    bars.replaceChildren(...order.map(([row]) => row));
  });
  return button;
};

const measures = (asked, result) => {
  const sorted = result.probabilities.toSorted((one, other) => other - one);
  const expected = result.probabilities.reduce((sum, share, level) => sum + level * share, 0);
  return [
    asked?.type === "score" && [
      "Expected level",
      `${expected.toFixed(2)} of 0–${sorted.length - 1}`,
      "Σ i · p(i), the first option being level 0",
    ],
    ["Margin", percent(sorted[0] - sorted[1]), "From the likeliest option to the next"],
    [
      "Option mass",
      percent(result.allowed_token_mass),
      "How much of what the model would have said next fell on the options at all",
    ],
    result.orders && [
      "Disagreement",
      percent(result.orders.disagreement),
      `How far ${result.orders.count} orders of the options lie apart`,
    ],
    result.input_tokens !== undefined && ["Tokens", String(result.input_tokens), "Of the prompt"],
    result.total_seconds !== undefined && ["Scored in", duration(result.total_seconds), "At the endpoint"],
  ].filter(Boolean);
};

const measureOf = ([name, value, meaning]) => {
  const group = element("div");
  group.title = meaning;
  group.append(element("dt", "", name), element("dd", "", value));
  return [group];
};

const hintOf = (asked, result) => {
  if (!(result.allowed_token_mass < LOW_MASS)) return "";
  const next = asked?.preamble ? "" : " Looking through what it says before a label (More) may help.";
  const share = percent(result.allowed_token_mass);
  return `Only ${share} of the model’s next token fell on the options: it would rather say something else.${next}`;
};
