// A form as a request, as curl and as Python. Pure: text in, text out.
//
// The request is written by hand, so that a state in JSON reaches the endpoint as it was typed (but for its indents):
// JavaScript would turn 1.0 into 1 and round long numbers, and a prompt has other bits then.

const text = (value) => JSON.stringify(value);

const object = (fields, indent) => {
  const inner = `${indent}  `;
  return `{\n${fields.map(([name, value]) => `${inner}${text(name)}: ${value}`).join(",\n")}\n${indent}}`;
};

const list = (items, indent) => {
  const inner = `${indent}  `;
  return items.length ? `[\n${items.map((item) => inner + item).join(",\n")}\n${indent}]` : "[]";
};

const readout = ({ order, preamble }) => ({
  ...(order && { order: "average" }),
  ...(preamble && { preamble: "marginal" }),
});

const decision = (form, asked, indent) => {
  const options = asked.options.map(
    ({ id, description }) => `{"id": ${text(id)}, "description": ${text(description)}}`,
  );
  const fields = [
    ["id", text(asked.id)],
    ["state", form.json ? form.state.trim().replaceAll("\n", `\n  ${indent}`) : text(form.state)],
    ["question", text(asked.question)],
    ["options", list(options, `${indent}  `)],
  ];
  if (asked.type !== "choice") fields.push(["type", text(asked.type)]);
  if (asked.order || asked.preamble) fields.push(["readout", text(readout(asked))]);
  return object(fields, indent);
};

/** The body of the request: `decision` for one question, `decisions` for several. */
export const body = (form) => {
  if (form.questions.length === 1) return object([["decision", decision(form, form.questions[0], "  ")]], "");
  const several = form.questions.map((asked) => decision(form, asked, "    "));
  return object([["decisions", list(several, "  ")]], "");
};

/** A shell command. The body is a here-document: nothing in it has to be quoted, and it may be of any length. */
export const curl = (form, url, needsKey) => {
  const key = needsKey ? ' -H "Authorization: Bearer $SEMIF_API_KEY"' : "";
  const command = `curl -sS ${quoted(url)} -H 'Content-Type: application/json'${key} --data-binary @-`;
  return `${command} <<'JSON'\n${body(form)}\nJSON\n`;
};

const quoted = (word) => (/^[\w:/.@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

// What JSON.stringify writes is also a Python string.
const lines = (value, indent) => {
  const parts = value.split(/(?<=\n)/);
  return parts.length < 2
    ? text(value)
    : `(\n${parts.map((part) => `${indent}    ${text(part)}\n`).join("")}${indent})`;
};

const pythonDecision = (asked, indent) => {
  const inner = `${indent}    `;
  const options = asked.options.map(
    ({ id, description }) => `${inner}    Option(${text(id)}, ${text(description)}),\n`,
  );
  const arguments_ = [`id=${text(asked.id)}`, "state=state", `question=${lines(asked.question, inner)}`];
  arguments_.push(options.length ? `options=[\n${options.join("")}${inner}]` : "options=[]");
  if (asked.type !== "choice") arguments_.push(`type=${text(asked.type)}`);
  if (asked.order || asked.preamble) {
    const chosen = Object.entries(readout(asked)).map(([name, value]) => `${name}=${text(value)}`);
    arguments_.push(`readout=Readout(${chosen.join(", ")})`);
  }
  return `Decision(\n${arguments_.map((one) => `${inner}${one},\n`).join("")}${indent})`;
};

/** A program on decision_client; `client` is the expression that makes one, null for one by `url`. */
export const python = (form, url, needsKey, client) => {
  const names = ["Decision", "DecisionClient", "Option"];
  if (form.questions.some(({ order, preamble }) => order || preamble)) names.push("Readout");
  const key = needsKey ? ', api_key=os.environ["SEMIF_API_KEY"]' : "";
  const standard = [form.json && "import json\n", needsKey && "import os\n"].filter(Boolean).join("");
  const state = lines(form.json ? form.state.trim() : form.state, "");
  const shown = "result.choice, result.probability, result.margin, result.allowed_token_mass";
  const [first] = form.questions;
  const ask =
    form.questions.length === 1
      ? `result = client.decide(\n    ${pythonDecision(first, "    ")}\n)\nprint(${shown})\n`
      : `decisions = [\n${form.questions.map((asked) => `    ${pythonDecision(asked, "    ")},\n`).join("")}]\n` +
        `for result in client.decide_many(decisions):\n    print(result.id, ${shown})\n`;
  return (
    `${standard}${standard && "\n"}from decision_client import ${names.join(", ")}\n\n` +
    `client = ${client ?? `DecisionClient.from_url(${text(url)}${key})`}\n` +
    `state = ${form.json ? `json.loads(${state})` : state}\n${ask}`
  );
};
