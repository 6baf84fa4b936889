// Asks the endpoint, and asks again while it is busy.

const PATIENCE_SECONDS = 60;
const LONGEST_WAIT_SECONDS = 5;
const SHOWN_CHARACTERS = 300;

/** A request that did not bring an answer: the endpoint's sentence, and its status, 0 when nothing answered. */
export class Trouble extends Error {
  constructor(sentence, status = 0, retryable = false, retryAfterSeconds = 0) {
    super(sentence);
    Object.assign(this, { status, retryable, retryAfterSeconds });
  }
}

/** What is known of the endpoint before it is asked. */
export const about = async () => {
  const unknown = { needs_key: false, name: null, client: null };
  try {
    const response = await fetch("playground/endpoint.json");
    return response.ok ? { ...unknown, ...(await response.json()) } : unknown;
  } catch {
    return unknown;
  }
};

/**
 * The answer to `body`.
 * `waiting(trouble, seconds)` is called before a busy endpoint is asked again; `signal` ends everything.
 */
export const score = async (body, { key, signal, waiting }) => {
  const began = performance.now();
  for (;;) {
    try {
      return await ask(body, key, signal);
    } catch (trouble) {
      if (!(trouble instanceof Trouble) || !trouble.retryable) throw trouble;
      const seconds = Math.min(Math.max(trouble.retryAfterSeconds, 0.5), LONGEST_WAIT_SECONDS) + Math.random() / 2;
      if ((performance.now() - began) / 1000 + seconds > PATIENCE_SECONDS) throw trouble;
      waiting(trouble, seconds);
      await pause(seconds, signal);
    }
  }
};

const ask = async (body, key, signal) => {
  const headers = { "Content-Type": "application/json" };
  if (key) headers.Authorization = `Bearer ${key}`;
  let response, text;
  try {
    response = await fetch("invocations", { method: "POST", headers, body, signal, cache: "no-store" });
    text = await response.text();
  } catch (error) {
    if (signal.aborted) throw error;
    throw new Trouble("The endpoint cannot be reached. Is it still running?");
  }
  const told = parsed(text);
  if (response.ok && (told?.result || Array.isArray(told?.results))) return told;
  if (response.ok) throw new Trouble(`What answers is no decision endpoint: ${cut(text)}`, response.status);
  const sentence =
    typeof told?.error === "string" ? told.error : cut(text) || `status ${response.status}, and nothing else`;
  const retryable = told?.retryable ?? response.status === 503;
  throw new Trouble(sentence, response.status, retryable, Number(response.headers.get("Retry-After")) || 0);
};

const parsed = (text) => {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
};

const cut = (text) => (text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text.trim());

const pause = (seconds, signal) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(done, seconds * 1000);
    function done() {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      if (signal.aborted) reject(signal.reason);
      else resolve();
    }
    signal.addEventListener("abort", done);
  });
