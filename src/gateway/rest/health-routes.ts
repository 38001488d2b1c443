/** What those who look after the process ask: whether it lives, and whether it can do its work. */
import { type Answer, json, textHeaders } from "./answer.ts";
import type { Route } from "./route.ts";

/** Something that we need. */
export interface Dependency {
  readonly name: string;
  /** Why it cannot be used; undefined while it can. */
  readonly trouble: string | undefined;
}

const alive: Answer = { status: 200, headers: textHeaders, body: "ok\n" };

export function healthRoutes(dependencies: () => readonly Dependency[]): Route[] {
  return [
    {
      ...{ method: "GET", path: "/healthz", access: "public" },
      about:
        "Whether the process lives. Whoever starts it again when this fails helps it; for what it waits for that is no help.",
      answers: { 200: "It does." },
      handle: () => alive,
    },
    {
      ...{ method: "GET", path: "/readyz", access: "public" },
      about: "Whether all that the provider needs can be used, each with the reason where it cannot.",
      answers: { 200: "All of it can.", 503: "Something cannot." },
      handle() {
        const all = dependencies();
        const isReady = all.every(({ trouble }) => trouble === undefined);
        const shown = all.map(({ name, trouble }) => [name, trouble ?? "ok"]);
        return json(JSON.stringify({ ready: isReady, dependencies: Object.fromEntries(shown) }), isReady ? 200 : 503);
      },
    },
  ];
}
