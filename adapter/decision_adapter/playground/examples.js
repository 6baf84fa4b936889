// Forms to begin with.

const option = (id, description) => ({ id, description });
const question = (id, text, options, more = {}) => ({
  id,
  question: text,
  type: "choice",
  order: false,
  preamble: false,
  options,
  ...more,
});

const YES_OR_NO = [option("no", "No."), option("yes", "Yes.")];

export const EXAMPLES = [
  {
    title: "Route a ticket",
    form: {
      state: "Customer asks to reset a forgotten password and says the reset email never arrived.",
      json: false,
      questions: [
        question("queue", "Which queue should handle this request?", [
          option("account", "Account access and authentication support."),
          option("billing", "Billing and payment support."),
          option("sales", "Sales and product evaluation."),
        ]),
      ],
    },
  },
  {
    title: "An incident: JSON, three questions",
    form: {
      state: JSON.stringify(
        {
          service: "checkout",
          alert: "p95 latency 4.2 s for 10 minutes, error rate 0.3 %",
          recent: ["deployed 14 minutes ago", "database CPU 41 %", "traffic as usual"],
        },
        null,
        2,
      ),
      json: true,
      questions: [
        question("action", "What should the on-call engineer do first?", [
          option("rollback", "Roll the deployment back."),
          option("wait", "Wait and watch."),
          option("scale", "Add database capacity."),
        ]),
        question("page", "Should a second engineer be paged?", YES_OR_NO, { type: "noul" }),
        question(
          "severity",
          "How severe is it?",
          [option("0", "Nobody notices."), option("1", "Some customers wait."), option("2", "Orders are lost.")],
          { type: "score" },
        ),
      ],
    },
  },
  {
    title: "Yes or no",
    form: {
      state: "Hi, I ordered the blue one and got the red one. Can I swap it? No hurry, I am away until Monday.",
      json: false,
      questions: [
        question("today", "Does the customer need an answer today?", YES_OR_NO, { type: "noul" }),
      ],
    },
  },
  {
    title: "A scale, whatever the order of options",
    form: {
      state: "Third time this week that the app logs me out in the middle of a payment. I am done with you.",
      json: false,
      questions: [
        question(
          "anger",
          "How angry is the customer?",
          ["Calm.", "Annoyed.", "Angry.", "About to leave."].map((text, level) => option(String(level), text)),
          { type: "score", order: true },
        ),
      ],
    },
  },
];
