/** The types of the simulated API server equal those of the real one. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { callApi } from "../../lab/api.ts";
import { plainDefinitions, readDefinitions, recording } from "../../lab/openapi.ts";
import { labIsMissing } from "./cluster.ts";

test("the recorded types are those of the API server", { skip: labIsMissing }, async () => {
  const live = plainDefinitions(await readDefinitions(async (path) => (await callApi(path)).body));
  const recorded = JSON.parse(readFileSync(recording, "utf8")) as Record<string, Record<string, unknown>>;
  const fromGo = new Set(["x-go-always", "x-go-omits-empty"]);
  const types = Object.entries(recorded).map(([name, definition]) => [
    name,
    Object.fromEntries(Object.entries(definition).filter(([field]) => !fromGo.has(field))),
  ]);
  assert.deepEqual(live, Object.fromEntries(types), "npm run lab -- openapi records them anew");
});
