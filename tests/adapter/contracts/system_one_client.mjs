// Asks the container at the base URL in the first argument with the key in the second, as an application would;
// prints what it got as JSON. Says "busy" on standard error each time it has to come again.
import { choice, noul, score, TypeSafeClient } from "@typesafe-ai/sdk";

const [baseURL, apiKey] = process.argv.slice(2);
const logger = { debug() {}, info: (line) => line.includes("retrying") && console.error("busy"), warn() {}, error() {} };
const client = new TypeSafeClient({ baseURL, apiKey, timeout: 300_000, retry: { maxRetries: 1000 }, logger, logLevel: "info" });

const { data, requestId } = await client
  .systemOne({
    state: { message: "I was charged twice. Please fix this." },
    questions: {
      "is angry?": noul("Is the customer angry?"),
      team: choice("Which team?", { billing: "Payments", "🙂 기타": null }),
      urgency: score("How urgent is it?", ["Can wait", { label: "Today" }]),
    },
  })
  .withResponse();
const models = await client.models.list();
console.log(JSON.stringify({ ...data, requestId, models }));
