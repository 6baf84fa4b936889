// What was scored before, newest first: kept in this browser alone, and never with a key.

import { summary } from "./answer.js";

const KEY = "decision-playground.history.1";
const DRAFT = "decision-playground.draft.1";
const MOST = 50;
const at = (id) => document.getElementById(id);

let open = () => {};

/** Have `opened` called with the entry that is chosen: `{when, form, results, seconds}`. */
export const whenOpened = (opened) => (open = opened);

/** Keep `entry` in front; an older one of the same form goes, and the oldest go where there is no room. */
export const add = (entry) => {
  const form = JSON.stringify(entry.form);
  keep([entry, ...entries().filter((other) => JSON.stringify(other.form) !== form)].slice(0, MOST));
};

/** Show what is kept. */
export const show = () => {
  const kept = entries();
  at("history-list").replaceChildren(...kept.map(rowOf));
  at("history-count").textContent = kept.length ? `(${kept.length})` : "";
  at("history-empty").hidden = kept.length > 0;
  at("clear-history").hidden = kept.length === 0;
};

const isEntry = (entry) =>
  Array.isArray(entry?.form?.questions) &&
  entry.form.questions.length === entry.results?.length &&
  entry.results.every((result) => Array.isArray(result?.option_ids) && Array.isArray(result.probabilities));

/** Empty where the browser keeps nothing, or what it kept is no history. */
const entries = () => {
  try {
    return (JSON.parse(localStorage.getItem(KEY)) ?? []).filter(isEntry);
  } catch {
    return [];
  }
};

const keep = (kept) => {
  for (let count = kept.length; count >= 0; count = count > 4 ? Math.floor(count / 2) : count - 1) {
    try {
      if (count) localStorage.setItem(KEY, JSON.stringify(kept.slice(0, count)));
      else localStorage.removeItem(KEY);
      break;
    } catch {
      // full, or not allowed
    }
  }
  show();
};

const rowOf = (entry) => {
  const row = document.createElement("li");
  const [opens, forgets] = ["entry", "quiet"].map((name) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = name;
    return button;
  });
  const [question, choice, when] = ["span", "strong", "time"].map((name) => document.createElement(name));
  const more = entry.results.length > 1 ? ` and ${entry.results.length - 1} more` : "";
  question.textContent = `${entry.form.questions[0].question}${more}`;
  choice.textContent = summary(entry.results.slice(0, 1));
  when.textContent = new Date(entry.when).toLocaleString([], { dateStyle: "short", timeStyle: "short" });
  opens.append(question, choice, when);
  opens.addEventListener("click", () => open(entry));
  forgets.textContent = "×";
  forgets.setAttribute("aria-label", `Forget: ${question.textContent}`);
  forgets.addEventListener("click", () => forget((other) => other.when !== entry.when));
  row.append(opens, forgets);
  return row;
};

const forget = (isKept) => {
  keep(entries().filter(isKept));
  at("history").querySelector("summary").focus();
};

at("clear-history").addEventListener("click", () => forget(() => false));

/** The form as it was left in this tab, null when there is none. */
export const draft = () => {
  try {
    const left = JSON.parse(sessionStorage.getItem(DRAFT));
    return Array.isArray(left?.questions) && left.questions.length ? left : null;
  } catch {
    return null;
  }
};

export const keepDraft = (form) => {
  try {
    sessionStorage.setItem(DRAFT, JSON.stringify(form));
  } catch {
    // too long for this browser: a reload forgets it
  }
};
