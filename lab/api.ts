/** A few plain requests to the lab's API server and health pages; the provider's own client is what gets tested. */
import { readFileSync } from "node:fs";
import { request as plainRequest } from "node:http";
import { request as secureRequest } from "node:https";
import { apiServer } from "./places.ts";
import { secret, tokenOf } from "./secrets.ts";

export interface Answer {
  readonly status: number;
  readonly body: string;
}

/** A component that has not answered by then is not ready, whatever it may say later. */
const timeoutMs = 5_000;

export function callApi(path: string, method = "GET", body?: object): Promise<Answer> {
  const headers = { authorization: `Bearer ${tokenOf("admin")}`, "content-type": "application/json" };
  const text = body === undefined ? undefined : JSON.stringify(body);
  return call(`${apiServer}${path}`, { method, headers, ca: readFileSync(secret("ca.crt")), timeout: timeoutMs }, text);
}

/** Whether a health page says 200. Components serve it with certificates they made up themselves. */
export async function answers(url: string): Promise<boolean> {
  // Some servers reject requests without a User-Agent.
  const headers = { "user-agent": "lab" };
  return isUp(call(url, { headers, timeout: timeoutMs, rejectUnauthorized: false }));
}

export async function apiAnswers(path: string): Promise<boolean> {
  return isUp(callApi(path));
}

async function isUp(answer: Promise<Answer>): Promise<boolean> {
  try {
    return (await answer).status === 200;
  } catch (error) {
    // Rejected, reset, no secrets yet: all that a thing that is still starting does.
    if (error instanceof Error && "code" in error) return false;
    throw error;
  }
}

function call(url: string, options: Parameters<typeof secureRequest>[1], body?: string): Promise<Answer> {
  const request = url.startsWith("https:") ? secureRequest : plainRequest;
  return new Promise((resolve, reject) => {
    // No agent: a kept-alive connection to a restarted server would fail the next call.
    const sent = request(url, { ...options, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString("utf8") }),
      );
    });
    sent.on("timeout", () => sent.destroy(Object.assign(new Error(`${url} did not answer`), { code: "ETIMEDOUT" })));
    sent.on("error", reject);
    sent.end(body);
  });
}
