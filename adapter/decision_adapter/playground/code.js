// The panel of request, answer, curl and Python: one is shown at a time, and copied whole.

const SHOWN_CHARACTERS = 20_000;
const text = document.getElementById("text");
const tabs = [...document.querySelectorAll('#code [role="tab"]')];
const copy = document.getElementById("copy");

let sources = () => ({});

/** Show what `make` gives: a text for each of request, answer, curl and python, made when it is looked at. */
export const of = (make) => {
  sources = make;
  refresh();
};

const chosen = () => tabs.find((tab) => tab.getAttribute("aria-selected") === "true");
const whole = () => sources()[chosen().id.replace("tab-", "")]?.() ?? "";

/** Show the chosen text anew. */
export const refresh = () => {
  const all = whole();
  const more = all.length - SHOWN_CHARACTERS;
  text.textContent =
    more > 0 ? `${all.slice(0, SHOWN_CHARACTERS)}\n… ${more} characters more; Copy takes them all` : all;
};

const choose = (tab) => {
  for (const one of tabs) {
    one.setAttribute("aria-selected", String(one === tab));
    one.tabIndex = one === tab ? 0 : -1;
  }
  text.setAttribute("aria-labelledby", tab.id);
  text.scrollTop = 0;
  refresh();
};

const put = async (all) => {
  try {
    await navigator.clipboard.writeText(all);
  } catch {
    // no clipboard outside of HTTPS and this machine: the old way
    const area = document.createElement("textarea");
    area.value = all;
    document.body.append(area);
    area.select();
    const isCopied = document.execCommand("copy");
    area.remove();
    if (!isCopied) throw new Error("the browser did not copy");
  }
};

for (const tab of tabs) tab.addEventListener("click", () => choose(tab));

document.querySelector('#code [role="tablist"]').addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const goal =
    { Home: 0, End: tabs.length - 1 }[event.key] ??
    (step && (tabs.indexOf(chosen()) + step + tabs.length) % tabs.length);
  if (goal === undefined) return;
  event.preventDefault();
  choose(tabs[goal]);
  tabs[goal].focus();
});

copy.addEventListener("click", async () => {
  const says = await put(whole()).then(
    () => "Copied",
    () => "Not copied",
  );
  copy.textContent = says;
  setTimeout(() => (copy.textContent = "Copy"), 1500);
});
