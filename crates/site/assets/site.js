// Choosing runs for a comparison: how many, and no more than six. Without it the form works as it is.
(() => {
  "use strict";

  const MOST = 6;
  for (const form of all("form.choose")) {
    const boxes = all("input[name=runs][type=checkbox]", form);
    const fixed = all("input[name=runs][type=hidden]", form).length;
    const told = form.querySelector(".said-of-choice");
    const button = form.querySelector("button[type=submit]");
    const update = () => {
      const count = boxes.filter((box) => box.checked).length + fixed;
      for (const box of boxes) box.disabled = !box.checked && count >= MOST;
      form.classList.toggle("choosing", count > fixed);
      button.disabled = count < 2;
      told.textContent = count <= fixed ? "Choose two to six runs." : count < 2 ? "One run chosen; choose another." :
        count >= MOST ? `${count} runs chosen, which is the most.` : `${count} runs chosen.`;
    };
    form.addEventListener("change", () => { update(); say(told.textContent); });
    // A page that comes back from the browser's memory has its choice again.
    addEventListener("pageshow", update);
    update();
  }
})();
