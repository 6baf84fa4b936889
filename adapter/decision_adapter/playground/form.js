// The form: to and from a plain object, its rows, and the sentences beside its fields.
//
//   {state, json, questions: [{id, question, type, order, preamble, options: [{id, description}]}]}

const stateField = document.getElementById("state");
const questionsPlace = document.getElementById("questions");
const templates = { question: "question-template", option: "option-template" };

const copyOf = (name) => document.getElementById(templates[name]).content.firstElementChild.cloneNode(true);
const field = (place, name) => place.querySelector(`[name="${name}"]`);
const questionsShown = () => [...questionsPlace.children];
const optionsShown = (place) => [...place.querySelectorAll(".option")];

/** What is in the form. */
export const read = () => ({
  state: stateField.value,
  json: stateIsJson(),
  questions: questionsShown().map((place) => ({
    id: field(place, "id").value,
    question: field(place, "question").value,
    type: field(place, "type").value,
    order: field(place, "order").checked,
    preamble: field(place, "preamble").checked,
    options: optionsShown(place).map((row) => ({
      id: field(row, "option-id").value,
      description: field(row, "description").value,
    })),
  })),
});

/** Put `form` into the form. */
export const write = (form) => {
  stateField.value = String(form.state ?? "");
  document.querySelector(`[name="state-kind"][value="${form.json ? "json" : "text"}"]`).checked = true;
  questionsPlace.replaceChildren(...form.questions.map(questionOf));
  number();
};

/** What keeps a JSON state from being one, null when nothing does. */
export const stateProblem = (form) => {
  if (!form.json) return null;
  try {
    JSON.parse(form.state);
    return null;
  } catch (error) {
    return form.state.trim() ? `not JSON: ${error.message}` : "must not be empty";
  }
};

const stateIsJson = () => document.querySelector('[name="state-kind"]:checked').value === "json";

const questionOf = (asked) => {
  const place = copyOf("question");
  for (const name of ["id", "question", "type"]) field(place, name).value = String(asked[name] ?? "");
  for (const name of ["order", "preamble"]) field(place, name).checked = Boolean(asked[name]);
  place.querySelector(".options").append(...(asked.options ?? []).map(optionOf));
  return place;
};

const optionOf = ({ id, description }) => {
  const row = copyOf("option");
  field(row, "option-id").value = String(id ?? "");
  field(row, "description").value = String(description ?? "");
  return row;
};

/** Names for what has only a place: for eyes, and for those who hear the page. */
const number = () => {
  const places = questionsShown();
  places.forEach((place, index) => {
    const title = places.length > 1 ? `Question ${index + 1}` : "Question";
    place.querySelector("legend").textContent = title;
    place.querySelector(".title").textContent = title;
    place.querySelector(".remove-question").hidden = places.length === 1;
    place.querySelector(".remove-question").setAttribute("aria-label", `Remove ${title}`);
    numberOptions(place);
  });
};

const numberOptions = (place) => {
  optionsShown(place).forEach((row, index) => {
    field(row, "option-id").setAttribute("aria-label", `Id of option ${index + 1}`);
    field(row, "description").setAttribute("aria-label", `Option ${index + 1}, what the model reads`);
    row.querySelector(".remove-option").setAttribute("aria-label", `Remove option ${index + 1}`);
  });
};

const changed = () => questionsPlace.dispatchEvent(new Event("input", { bubbles: true }));

/** One more question, ready to be typed. */
export const addQuestion = () => {
  const taken = new Set(questionsShown().map((place) => field(place, "id").value));
  let index = questionsShown().length + 1;
  while (taken.has(`question-${index}`)) index += 1;
  const place = questionOf({ id: `question-${index}`, type: "choice", options: [{}, {}] });
  questionsPlace.append(place);
  number();
  changed();
  field(place, "question").focus();
};

const addOption = (place, after) => {
  const row = optionOf({});
  if (after) after.after(row);
  else place.querySelector(".options").append(row);
  numberOptions(place);
  changed();
  field(row, "option-id").focus();
};

const removeOption = (row) => {
  const place = row.closest(".question");
  const beside = row.previousElementSibling ?? row.nextElementSibling;
  row.remove();
  numberOptions(place);
  changed();
  (beside ? field(beside, "description") : place.querySelector(".add-option")).focus();
};

const removeQuestion = (place) => {
  const beside = place.previousElementSibling ?? place.nextElementSibling;
  place.remove();
  number();
  changed();
  field(beside, "question").focus();
};

/** An option of one pasted line: `id: description`, or a line that is both. */
const optionOfLine = (line) => {
  const [, id, description] = /^(\S{1,40}?)(?:\s*:\s|\t)\s*(.+)$/.exec(line) ?? [null, line, line];
  return { id, description };
};

/** Several lines pasted into an id, or into an option that is empty, become options. */
const pasteOptions = (event, row) => {
  const isEmpty = !field(row, "option-id").value && !field(row, "description").value;
  if (event.target.name !== "option-id" && !isEmpty) return;
  const lines = event.clipboardData
    .getData("text/plain")
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter(Boolean);
  if (lines.length < 2) return;
  event.preventDefault();
  const rows = lines.map((line) => optionOf(optionOfLine(line)));
  if (isEmpty) row.replaceWith(...rows);
  else row.after(...rows);
  numberOptions(rows[0].closest(".question"));
  changed();
  field(rows.at(-1), "description").focus();
};

const USUAL = { noul: { no: "No.", yes: "Yes." }, score: { 0: "", 1: "", 2: "" } };

/** A type that has options of its own brings them where nothing was written yet. */
const fillOptions = (place, type) => {
  const rows = optionsShown(place);
  const isEmpty = rows.every((row) => !field(row, "option-id").value && !field(row, "description").value);
  const usual = USUAL[type];
  if (!isEmpty || !usual) return;
  const brought = Object.entries(usual).map(([id, description]) => optionOf({ id, description }));
  place.querySelector(".options").replaceChildren(...brought);
  numberOptions(place);
};

questionsPlace.addEventListener("click", ({ target }) => {
  if (target.matches(".add-option")) addOption(target.closest(".question"), null);
  if (target.matches(".remove-option")) removeOption(target.closest(".option"));
  if (target.matches(".remove-question")) removeQuestion(target.closest(".question"));
});

questionsPlace.addEventListener("change", ({ target }) => {
  if (target.name === "type") fillOptions(target.closest(".question"), target.value);
});

questionsPlace.addEventListener("keydown", (event) => {
  const row = event.target.closest(".option");
  if (event.isComposing || !row || event.target.matches("button")) return;
  if (event.key === "Enter" && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    addOption(row.closest(".question"), row);
  }
  const isEmpty = !field(row, "option-id").value && !field(row, "description").value;
  if (event.key === "Backspace" && isEmpty && optionsShown(row.closest(".question")).length > 1) {
    event.preventDefault();
    removeOption(row);
  }
});

questionsPlace.addEventListener("paste", (event) => {
  const row = event.target.closest(".option");
  if (row) pasteOptions(event, row);
});

/** The field that a place of `problems.js` means, null when the form has none such. */
const fieldOf = (place) => {
  if (place.field === "state") return stateField;
  const question = questionsShown()[place.question];
  if (!question) return null;
  if (place.field !== "options") return field(question, place.field === "readout" ? "order" : place.field);
  const row = optionsShown(question)[place.option];
  if (!row) return question.querySelector(".add-option");
  return field(row, place.part === "id" ? "option-id" : "description");
};

/** Show what is wrong beside the fields that `places` name, and go to the first. */
export const showProblems = (places) => {
  const found = places.map((place) => [fieldOf(place), place.text]).filter(([control]) => control);
  found.forEach(([control, text], index) => {
    const note = document.createElement("p");
    note.className = "wrong";
    note.id = `wrong-${index}`;
    note.textContent = text;
    control.setAttribute("aria-invalid", "true");
    control.setAttribute("aria-describedby", note.id);
    control.closest("details")?.setAttribute("open", "");
    (control.closest(".option, .below, label.line") ?? control).after(note);
  });
  found[0]?.[0].focus();
  return found.length;
};

/** Take all of that away. */
export const clearProblems = () => {
  document.querySelectorAll(".wrong").forEach((note) => note.remove());
  document.querySelectorAll("[aria-invalid]").forEach((control) => {
    control.removeAttribute("aria-invalid");
    control.removeAttribute("aria-describedby");
  });
};
