const steps = [...document.querySelectorAll("section")], where = document.getElementById("where");
let now = 0, timer = 0;
const named = () => (parseInt(location.hash.slice(1)) || 1) - 1;
const play = document.getElementById("play");
function show(k) {
  now = Math.min(Math.max(k, 0), steps.length - 1);
  steps.forEach((each, i) => each.classList.toggle("shown", i === now));
  if (steps[now].getBoundingClientRect().top < 0) steps[now].scrollIntoView();
  where.textContent = `${now + 1} of ${steps.length}`;
  history.replaceState(null, "", `#${now + 1}`);
  if (now === steps.length - 1) stop();
}
function stop() { clearInterval(timer); timer = 0; play.textContent = "Play"; }
function toggle() {
  if (timer) return stop();
  if (now === steps.length - 1) show(0);
  play.textContent = "Pause";
  timer = setInterval(() => show(now + 1), 2500);
}
document.getElementById("back").onclick = () => { stop(); show(now - 1); };
document.getElementById("next").onclick = () => { stop(); show(now + 1); };
play.onclick = toggle;
document.addEventListener("keydown", (key) => {
  if (key.target.tagName === "INPUT" || key.altKey || key.ctrlKey || key.metaKey) return;
  if (key.key === "ArrowRight") { stop(); show(now + 1); }
  if (key.key === "ArrowLeft") { stop(); show(now - 1); }
});
for (const drag of document.querySelectorAll("input[type=range]")) drag.oninput = () => {
  const chosen = drag.dataset.choices.split("|")[drag.value];
  drag.form.querySelector("[name=answer]").value = drag.form.querySelector("b").textContent = chosen;
};
for (const form of document.querySelectorAll("form")) form.oninput = () => form.querySelector("output").value = "";
for (const form of document.querySelectorAll("form")) form.onsubmit = () => {
  const given = (new FormData(form).get("answer") || "").toString().trim(), said = form.querySelector("output");
  const number = (text, mark) => Number(text.replaceAll(",", mark)), answer = number(form.dataset.answer, "");
  const numbers = ["", "."].map((mark) => number(given, mark)).filter((each) => given !== "" && isFinite(each));
  const near = numbers.some((each) => Math.abs(each - answer) <= form.dataset.near * Math.abs(answer));
  const typed = !form.querySelector("[type=range], [type=radio]") && !numbers.length;
  const wrong = typed ? "The answer is a number, such as 12 or 0.5." : "Not yet. " + form.dataset.hint;
  said.textContent = near || form.dataset.answer.split(" | ").includes(given) ? "Right." : wrong;
  return false;
};
addEventListener("hashchange", () => { stop(); show(named()); });
document.body.classList.add("live");
show(named());
