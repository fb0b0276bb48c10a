// The slider of "as of": a day between the first memory and today. The date field beside it says the same in text.

import { submitOnChoice } from "./app.js";

const DAY = 86400000;
const slider = document.getElementById("as-of-slider");

function dayOf(time) {
  return new Date(time).toISOString().slice(0, 10);
}

if (slider) {
  const field = document.getElementById(slider.dataset.for);
  const told = document.getElementById("as-of-told");
  const first = Date.parse(slider.dataset.first);
  const last = Math.max(1, Math.ceil((Date.now() - first) / DAY));
  slider.min = 0;
  slider.max = last;
  slider.value = field.value ? Math.round((Date.parse(field.value) - first) / DAY) : last;
  const show = () => {
    const now = Number(slider.value) >= last;
    const day = now ? "now" : dayOf(first + Number(slider.value) * DAY);
    told.textContent = day;
    slider.setAttribute("aria-valuetext", day);
    field.value = now ? "" : day;
  };
  show();
  slider.addEventListener("input", show);
  submitOnChoice(slider.form, slider);
}

// An address without the fields that say nothing.
document.getElementById("search")?.addEventListener("formdata", (event) => {
  for (const [name, value] of [...event.formData]) if (!value) event.formData.delete(name);
});
