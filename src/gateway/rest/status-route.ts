/** `/status`: what anybody may know of the provider. */
import type { Snapshot } from "../status/status-snapshot.ts";
import { type Answer, json, withHeader } from "./answer.ts";
import type { Route } from "./route.ts";

export function statusRoutes(snapshot: () => Snapshot): Route[] {
  let shown: Snapshot | undefined;
  let answer: Answer = json("");
  return [
    {
      ...{ method: "GET", path: "/status", access: "public" },
      about: "What runs here, what is promised and what is free, as it was `Age` seconds ago at the worst.",
      answers: { 200: "The status; `stale` names what could not be read lately, since when and why." },
      handle() {
        const newest = snapshot();
        if (newest !== shown) answer = withHeader(json(newest.body), "Age", `${newest.ageS}`);
        shown = newest;
        return answer;
      },
    },
  ];
}
