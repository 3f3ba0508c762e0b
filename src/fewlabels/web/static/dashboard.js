// The live view: the server says that something changed, the page fetches the parts anew.

const page = document.body.dataset;
const live = document.getElementById("live");
const saidState = document.getElementById("state");
let fetching = false;
let again = false;

async function fetchPart(part) {
  const answer = await fetch(`/dashboard/${page.path}/${part}`, { credentials: "same-origin" });
  if (answer.redirected || !answer.ok) throw new Error(answer.redirected ? "signed out" : `status ${answer.status}`);
  const text = await answer.text();
  const fresh = new DOMParser().parseFromString(text, "text/html");
  for (const section of fresh.querySelectorAll("[data-part]")) {
    const old = live.querySelector(`[data-part="${section.dataset.part}"]`);
    // What a person has opened stays open.
    for (const box of section.querySelectorAll("details[id]")) box.open = document.getElementById(box.id)?.open ?? box.open;
    if (old) old.replaceWith(document.adoptNode(section));
    else live.append(document.adoptNode(section));
  }
}

async function refresh() {
  if (fetching) {
    again = true;
    return;
  }
  fetching = true;
  try {
    await fetchPart("live");
    saidState.textContent = `as of ${new Date().toLocaleTimeString()}`;
    await fetchPart("forecast");
  } catch (error) {
    saidState.textContent = error.message === "signed out" ? "signed out: open your link again" : "no connection, trying again";
  } finally {
    fetching = false;
    if (again) {
      again = false;
      setTimeout(refresh, 1000);
    }
  }
}

const source = new EventSource(`/api/v1/assessments/${page.path}/live`);
source.addEventListener("change", refresh);
source.addEventListener("error", () => (saidState.textContent = "no connection, trying again"));
refresh();
