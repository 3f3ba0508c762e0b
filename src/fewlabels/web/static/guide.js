// Nobody loses a guide by a wrong click: leaving the page with unsaved changes asks first.

const form = document.getElementById("write");
const written = () => new URLSearchParams(new FormData(form)).toString();
const before = written();
const refused = Boolean(document.querySelector(".notice.bad")); // what came back refused is not saved
let saving = false;

form.addEventListener("submit", () => {
  saving = true;
});
window.addEventListener("beforeunload", (event) => {
  if (!saving && (refused || written() !== before)) event.preventDefault();
});
