"use strict";
document.body.classList.remove("no-script");
const rows = Array.from(document.querySelectorAll("details.q"));
const fields = { type: document.getElementById("type"), mark: document.getElementById("mark"), words: document.getElementById("words") };
const shown = document.getElementById("shown");
function filter() {
  const words = fields.words.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const row of rows) {
    const text = words.length ? row.textContent.toLowerCase() : "";
    const fits = (!fields.type.value || row.dataset.type === fields.type.value)
      && (!fields.mark.value || row.dataset.mark === fields.mark.value)
      && words.every((word) => text.includes(word));
    row.hidden = !fits;
    count += fits ? 1 : 0;
  }
  shown.textContent = count + " of " + rows.length + " questions";
}
function openTarget() {
  const target = location.hash ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
  if (target && target.tagName === "DETAILS") { target.open = true; target.scrollIntoView(); }
}
for (const field of Object.values(fields)) { field.addEventListener("input", filter); }
addEventListener("hashchange", openTarget);
filter();
openTarget();
