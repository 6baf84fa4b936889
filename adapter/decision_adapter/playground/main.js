// What happens when: scoring, cancelling, loading, keys.

import * as answer from "./answer.js";
import * as code from "./code.js";
import * as endpoint from "./endpoint.js";
import { EXAMPLES } from "./examples.js";
import * as form from "./form.js";
import * as history from "./history.js";
import { places } from "./problems.js";
import * as request from "./request.js";

const at = (id) => document.getElementById(id);
const TICK_MILLISECONDS = 100;
const SLOW_SECONDS = 5;

let about = { needs_key: false, name: null, client: null };
let answered = ""; // the text of the last answer
let model = null; // what gave it
let running = null; // the AbortController of what is under way

const say = (text) => (at("status").textContent = text);

const describeEndpoint = () =>
  (at("endpoint").textContent = [about.name, model?.gguf?.file].filter(Boolean).join(" · "));

const needKey = () => {
  about = { ...about, needs_key: true };
  at("key-card").hidden = false;
};

const clearTrouble = () => {
  form.clearProblems();
  at("trouble").hidden = true;
};

const showTrouble = (trouble) => {
  at("sentence").textContent = trouble.message;
  at("again").hidden = !(trouble.retryable || trouble.status === 0 || trouble.status >= 500);
  at("trouble").hidden = false;
  say("Not scored.");
  if (trouble.status === 401) {
    needKey();
    at("key").focus();
  }
  form.showProblems(places(trouble.message));
};

const showAnswer = (asked, told, seconds) => {
  const results = answer.resultsOf(told);
  answered = JSON.stringify(told, null, 2);
  answer.show(asked, results);
  code.refresh();
  model = results[0].model;
  describeEndpoint();
  if (JSON.stringify(form.read()) !== JSON.stringify(asked)) answer.outdate();
  say(`Answered in ${answer.duration(seconds)}: ${answer.summary(results)}.`);
  if (at("outcome").getBoundingClientRect().top > 0.8 * innerHeight) at("outcome").scrollIntoView();
  return results;
};

const score = async () => {
  if (running) return;
  clearTrouble();
  const asked = form.read();
  const problem = form.stateProblem(asked);
  if (problem) return showTrouble(new endpoint.Trouble(`decision.state: ${problem}`, 400));
  const key = at("key").value.trim();
  if (key && !/^[\x21-\x7e]+$/.test(key)) {
    return showTrouble(new endpoint.Trouble("The key must be printable ASCII characters without spaces.", 401));
  }
  const began = performance.now();
  const passed = () => (performance.now() - began) / 1000;
  const clock = begin(passed);
  try {
    const told = await endpoint.score(request.body(asked), { key, signal: running.signal, waiting });
    const seconds = passed();
    history.add({ when: Date.now(), form: asked, results: showAnswer(asked, told, seconds), seconds });
  } catch (trouble) {
    if (trouble instanceof endpoint.Trouble) showTrouble(trouble);
    else if (running.signal.aborted) say("Cancelled.");
    else showTrouble(new endpoint.Trouble(`This page failed: ${trouble.message}`, 500));
  } finally {
    end(clock);
  }
};

const waiting = (trouble, seconds) =>
  say(`${trouble.message.replace(/\.$/, "")}. Asking again in ${Math.ceil(seconds)} s.`);

const begin = (passed) => {
  running = new AbortController();
  at("cancel").hidden = false;
  at("score").setAttribute("aria-disabled", "true");
  say("Scoring…");
  let isTold = false;
  return setInterval(() => {
    at("elapsed").textContent = `${passed().toFixed(1)} s`;
    if (passed() > SLOW_SECONDS && !isTold) {
      isTold = true;
      if (at("status").textContent === "Scoring…") say("Still scoring. A long state takes a while on a CPU.");
    }
  }, TICK_MILLISECONDS);
};

const end = (clock) => {
  clearInterval(clock);
  running = null;
  at("elapsed").textContent = "";
  if (document.activeElement === at("cancel")) at("score").focus();
  at("cancel").hidden = true;
  at("score").removeAttribute("aria-disabled");
};

// --- form ---------------------------------------------------------------------------------------------------------

const load = (wanted) => {
  clearTrouble();
  form.write(wanted);
  edited();
};

const edited = () => {
  const now = form.read();
  const size = now.state.length;
  at("state-size").textContent = size > 500 ? `${size.toLocaleString("en")} characters` : "";
  history.keepDraft(now);
  answer.outdate();
  code.refresh();
};

const url = (path) => new URL(path, document.baseURI).href.replace(/\/$/, "");

const ofForm = (write) => () => {
  const now = form.read();
  const problem = form.stateProblem(now);
  return problem ? `The state is ${problem}` : write(now);
};

code.of(() => ({
  request: ofForm(request.body),
  answer: () => answered,
  curl: ofForm((now) => request.curl(now, url("invocations"), about.needs_key)),
  python: ofForm((now) => request.python(now, url("."), about.needs_key, about.client)),
}));

let isPlanned = false;
at("form").addEventListener("input", ({ target }) => {
  if (target === at("key") || isPlanned) return;
  isPlanned = true;
  requestAnimationFrame(() => {
    isPlanned = false;
    edited();
  });
});
at("form").addEventListener("submit", (event) => {
  event.preventDefault();
  score();
});
at("again").addEventListener("click", score);
at("cancel").addEventListener("click", () => running?.abort());
at("add-question").addEventListener("click", form.addQuestion);
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    score();
  }
  if (event.key === "Escape") running?.abort();
});

at("examples").append(...EXAMPLES.map(({ title }, index) => new Option(title, String(index))));
at("examples").addEventListener("change", ({ target }) => {
  if (target.value) load(EXAMPLES[Number(target.value)].form);
  target.value = "";
});

// --- history ------------------------------------------------------------------------------------------------------

history.whenOpened((entry) => {
  load(entry.form);
  showAnswer(
    entry.form,
    entry.results.length > 1 ? { results: entry.results } : { result: entry.results[0] },
    entry.seconds,
  );
});

// --- the beginning ------------------------------------------------------------------------------------------------

const start = async () => {
  load(history.draft() ?? EXAMPLES[0].form);
  history.show();
  about = await endpoint.about();
  if (about.needs_key) needKey();
  describeEndpoint();
  code.refresh();
};
start();
