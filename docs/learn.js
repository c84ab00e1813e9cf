// Plays the cards of the page Learn without a server: every setting is solved in the page already.
import mount from "./movie.js";

for (const toy of document.querySelectorAll(".toy")) {
  const { choices, films } = JSON.parse(toy.querySelector("script").textContent);
  const controls = document.createElement("div"), chosen = choices.map(({ start }) => start);
  controls.className = "toy-controls";
  toy.before(controls);
  const root = toy.attachShadow({ mode: "open" });
  root.innerHTML = '<link rel="stylesheet" href="movie.css"><div class="movie"></div>';
  const play = () => mount({ data: films[chosen.join("|")], parentElement: root });
  choices.forEach(({ label, options, slides }, at) => {
    const box = controls.appendChild(document.createElement("label"));
    box.textContent = `${label} `;
    const input = box.appendChild(document.createElement(slides ? "input" : "select"));
    const value = document.createElement("output");
    const show = () => { value.textContent = ` ${options[chosen[at]]}`; };
    if (slides) {
      Object.assign(input, { type: "range", min: 0, max: options.length - 1, value: chosen[at] });
      box.append(value);
    } else {
      input.append(...options.map((option, place) => new Option(option, place)));
      input.value = chosen[at];
    }
    show();
    input.addEventListener("input", () => {
      chosen[at] = Number(input.value);
      show();
      play();
    });
  });
  play();
}
