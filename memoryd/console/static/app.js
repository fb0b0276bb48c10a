// What makes the pages quicker to use. Everything works without it.

const PRESS_MS = 1500;
export const csrf = () => document.querySelector('meta[name="csrf"]').content;

// A change without leaving the page; the parsed answer, or an Error with the server's words.
export async function post(path, values) {
  const answer = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "application/json", "X-CSRF-Token": csrf() },
    body: JSON.stringify(values),
  });
  return parsed(answer);
}

// Data for a script from the address that also serves the page.
export async function get(path) {
  return parsed(await fetch(path, { headers: { Accept: "application/json" } }));
}

async function parsed(answer) {
  const type = answer.headers.get("content-type") || "";
  const value = type.startsWith("application/json") ? await answer.json() : {};
  if (!answer.ok) throw new Error(value.error ? `${value.error.message} ${value.error.fix}`.trim() : await answer.text());
  return value;
}

// With a mouse the choice is enough. By keyboard each arrow would be a choice: there Enter, or the button, says that it is made.
export function submitOnChoice(form, field) {
  let byKeys = false;
  field.addEventListener("keydown", (event) => {
    byKeys = event.key !== "Enter";
    if (event.key === "Enter") submit(event, form);
  });
  field.addEventListener("pointerdown", () => (byKeys = false));
  field.addEventListener("change", () => {
    if (!byKeys) form.requestSubmit();
    else form.querySelector("button[hidden]")?.removeAttribute("hidden");
  });
}

function submit(event, form) {
  event.preventDefault();
  form.requestSubmit();
}

function submitOnChange() {
  for (const form of document.querySelectorAll("form[data-submit-on-change]")) {
    form.querySelector("button")?.setAttribute("hidden", "");
    for (const field of form.querySelectorAll("select")) submitOnChoice(form, field);
  }
}

// A text that was written is not sent into the void: without an answer to the page itself, the form stays as it is.
// With one, the form goes under the token of the session that is open now, once, however often the button is pressed.
function keepText() {
  for (const form of document.querySelectorAll('form[method="post"]:has(textarea)')) {
    let sure = false;
    let asking = false;
    form.addEventListener("submit", async (event) => {
      if (sure) return;
      event.preventDefault();
      if (asking) return;
      asking = true;
      const { trouble, token } = await pageNow();
      if (trouble) {
        asking = false;
        return tell(form, `Not saved: ${trouble} Your text is still here. Copy it, open the console anew with: memoryd console`);
      }
      if (token) form.elements.csrf.value = token;
      sure = true;
      form.requestSubmit(event.submitter);
      sure = false;
    });
    window.addEventListener("pageshow", () => (asking = false));
  }
}

// A button that is pressed twice counts once: else the second answer ("a dream is under way") comes in place of the first.
function pressOnce() {
  for (const form of document.querySelectorAll('form[method="post"]')) {
    let last = -PRESS_MS;
    form.addEventListener("submit", (event) => {
      if (event.defaultPrevented) return;
      if (event.timeStamp - last < PRESS_MS) return event.preventDefault();
      last = event.timeStamp;
      form.querySelector("[data-busy]")?.removeAttribute("hidden");
    });
  }
}

async function pageNow() {
  try {
    const answer = await fetch(location.pathname, { cache: "no-store" });
    if (answer.status === 401) return { trouble: "this session has ended." };
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    return { token: page.querySelector('meta[name="csrf"]')?.content };
  } catch {
    return { trouble: "the daemon does not answer." };
  }
}

function tell(form, words) {
  const note = form.querySelector("[role=alert]") || form.appendChild(document.createElement("p"));
  note.className = "flash failed";
  note.setAttribute("role", "alert");
  note.textContent = words;
}

// The page of the navigation whose name begins with this letter.
function pageOf(letter) {
  const links = [...document.querySelectorAll(".top nav a")];
  return links.find((link) => link.textContent.trim().toLowerCase().startsWith(letter));
}

// Keys: "/" to the search field; "g" and the first letter of a page to that page. Never while typing.

function keys() {
  let before = "";
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
    const search = document.querySelector("input[type=search]");
    if (event.key === "/") {
      event.preventDefault();
      if (search) search.focus();
      else location.assign("/memories");
    } else if (before === "g" && /^[a-z]$/.test(event.key)) {
      pageOf(event.key)?.click();
      before = "";
      return;
    }
    if (event.key !== "Shift") before = event.key;
  });
}

for (const element of document.querySelectorAll("[data-needs-script]")) element.hidden = false;
submitOnChange();
keepText();
pressOnce();
keys();
