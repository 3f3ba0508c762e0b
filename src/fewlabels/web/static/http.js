// Talking to the server: JSON in and out, with the token that shows the request comes from this page.

const PATIENCE = 30000; // ms: otherwise a connection that was cut by a closed lid could hang for minutes

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

// The path under which this app is reached: empty, or such as /lab behind a proxy.
export const root = document.documentElement.dataset.root ?? "";

const csrf = () => document.querySelector("meta[name=csrf]")?.content ?? "";

export async function call(method, path, body) {
  const headers = { accept: "application/json", "x-csrf-token": csrf(), "x-pool": document.body.dataset.pool ?? "" };
  if (body !== undefined) headers["content-type"] = "application/json";
  const answer = await fetch(root + path, {
    method,
    headers,
    credentials: "same-origin",
    body: body === undefined ? undefined : JSON.stringify(body),
    signal: AbortSignal.timeout(PATIENCE),
  });
  const text = await answer.text();
  let data = {};
  try {
    data = text ? JSON.parse(text) : {};
  } catch {
    data = {};
  }
  if (!answer.ok) throw new Refused(answer.status, data?.error?.message ?? `The server answered ${answer.status}.`);
  return data;
}

// Whether the server no longer knows this page's person: signed out, locked out, or somebody else signed in.
export const signedOut = (error) => error.status === 401 || error.status === 403;

export const inWords = (error) => (error instanceof Refused ? error.message : "no connection");

export const path = (assessment, verb) => `/api/v1/assessments/${encodeURIComponent(assessment)}/${verb}`;
