// Nobody loses a guide by a wrong click: leaving the page with unsaved changes asks first.

const form = document.getElementById("write");
const written = () => new URLSearchParams(new FormData(form)).toString();
const before = written();
let saving = Boolean(document.querySelector(".notice.bad")); // what came back refused is not saved

form.addEventListener("submit", () => {
  saving = true;
});
window.addEventListener("beforeunload", (event) => {
  if (!saving && written() !== before) event.preventDefault();
});
