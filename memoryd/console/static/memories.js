// The "as of" slider: a day between the first memory and today, synchronised with the date field beside it.

import { submitOnChoice } from "./app.js";

const DAY = 86400000;
const slider = document.getElementById("as-of-slider");

function dayOf(time) {
  return new Date(time).toISOString().slice(0, 10);
}

if (slider) {
  const field = document.getElementById(slider.dataset.for);
  const output = document.getElementById("as-of-value");
  const first = Date.parse(slider.dataset.first);
  const last = Math.max(1, Math.ceil((Date.now() - first) / DAY));
  slider.min = 0;
  slider.max = last;
  slider.value = field.value ? Math.round((Date.parse(field.value) - first) / DAY) : last;
  const show = () => {
    const now = Number(slider.value) >= last;
    const day = now ? "now" : dayOf(first + Number(slider.value) * DAY);
    output.textContent = day;
    slider.setAttribute("aria-valuetext", day);
    field.value = now ? "" : day;
  };
  show();
  slider.addEventListener("input", show);
  submitOnChoice(slider.form, slider);
}

// Omit empty fields from the URL.
document.getElementById("search")?.addEventListener("formdata", (event) => {
  for (const [name, value] of [...event.formData]) if (!value) event.formData.delete(name);
});
