// Live page of a run: show the progress events of its stream, and the result when it ends.
const SILENT = "The server does not answer; this is the last known state. Reopen these pages with: ";
const box = document.getElementById("live");
if (box && box.dataset.state === "running") follow(box);

function follow(target) {
  const part = (name) => target.querySelector(`[data-live="${name}"]`);
  const source = new EventSource(target.dataset.events);
  const tell = (words) => (part("status").textContent = words);
  source.addEventListener("open", () => tell("This page follows the run."));
  // The browser tries again by itself, but what is shown meanwhile may be old: a server ends, too.
  source.addEventListener("error", () => tell(SILENT + target.dataset.reopen));
  source.addEventListener("progress", (event) => show(target, part, JSON.parse(event.data)));
  source.addEventListener("end", (event) => {
    source.close();
    const { state, message } = JSON.parse(event.data);
    target.dataset.state = state;
    part("state").textContent = state;
    tell(message || (state === "finished" ? "Finished." : "It was stopped."));
    if (state === "finished") location.reload();
  });
}

function show(target, part, progress) {
  for (const stage of progress.stages) {
    const bar = target.querySelector(`[data-stage="${CSS.escape(stage.phase)}"]`);
    const count = target.querySelector(`[data-count="${CSS.escape(stage.phase)}"]`);
    if (!bar || !count) continue;
    bar.max = stage.total || 1;
    bar.value = stage.done;
    count.textContent = `${stage.done} of ${stage.total}${stage.failed ? `, ${stage.failed} failed` : ""}`;
  }
  part("parts").hidden = !progress.parts;
  part("parts").textContent = `${progress.parts} sessions taken in`;
  part("paid").hidden = !progress.cost;
  part("cost").textContent = progress.cost;
  part("note").textContent = progress.note || "nothing is scored yet";
}
