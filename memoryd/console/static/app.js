// Progressive enhancements; all pages work without scripts.

const PRESS_MS = 1500;
export const csrf = () => document.querySelector('meta[name="csrf"]').content;

// Post a change without leaving the page; returns the parsed response or throws the server's error.
export async function post(path, values) {
  const answer = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "application/json", "X-CSRF-Token": csrf() },
    body: JSON.stringify(values),
  });
  return parsed(answer);
}

// Fetch JSON from a page's URL.
export async function get(path) {
  return parsed(await fetch(path, { headers: { Accept: "application/json" } }));
}

async function parsed(answer) {
  const type = answer.headers.get("content-type") || "";
  const value = type.startsWith("application/json") ? await answer.json() : {};
  if (!answer.ok) throw new Error(value.error ? `${value.error.message} ${value.error.fix}`.trim() : await answer.text());
  return value;
}

// Submit when a choice is made by mouse. By keyboard, each arrow key would submit, so Enter or the button is required.
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

// Before submitting a text, check that the session is still valid; otherwise keep the form. Submits once, with a fresh CSRF
// token, however often the button is pressed.
function keepText() {
  for (const form of document.querySelectorAll('form[method="post"]:has(textarea)')) {
    let sure = false;
    let asking = false;
    form.addEventListener("submit", async (event) => {
      if (sure) return;
      event.preventDefault();
      if (asking) return;
      asking = true;
      const { problem, token } = await checkSession();
      if (problem) {
        asking = false;
        return showError(form, `Not saved: ${problem} Your text is still here. Copy it, reopen the console with: memoryd console`);
      }
      if (token) form.elements.csrf.value = token;
      sure = true;
      form.requestSubmit(event.submitter);
      sure = false;
    });
    window.addEventListener("pageshow", () => (asking = false));
  }
}

// A checkbox that selects all the others of its section.
function selectAll() {
  for (const all of document.querySelectorAll("[data-select-all]")) {
    const others = () => all.closest("section").querySelectorAll('input[type="checkbox"][name]');
    all.addEventListener("change", () => others().forEach((box) => (box.checked = all.checked)));
    all.closest("section").addEventListener("change", () => (all.checked = [...others()].every((box) => box.checked)));
  }
}

// Ignore double clicks: the second response ("a dream is in progress") would replace the first.
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

async function checkSession() {
  try {
    const answer = await fetch(location.pathname, { cache: "no-store" });
    if (answer.status === 401) return { problem: "this session has ended." };
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    return { token: page.querySelector('meta[name="csrf"]')?.content };
  } catch {
    return { problem: "the daemon does not answer." };
  }
}

function showError(form, message) {
  const note = form.querySelector("[role=alert]") || form.appendChild(document.createElement("p"));
  note.className = "flash failed";
  note.setAttribute("role", "alert");
  note.textContent = message;
}

// Return the navigation link whose label starts with this letter.
function pageOf(letter) {
  const links = [...document.querySelectorAll(".top nav a")];
  return links.find((link) => link.textContent.trim().toLowerCase().startsWith(letter));
}

// Shortcuts: "/" focuses the search field; "g" and a letter opens the page starting with it. Disabled while typing.

function keys() {
  let before = "";
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
    const search = document.querySelector("input[type=search]");
    if (event.key === "/") {
      event.preventDefault();
      if (search) search.focus();
      else pageOf("m")?.click();
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
selectAll();
keys();
