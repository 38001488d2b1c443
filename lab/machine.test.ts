import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { obstacles } from "./machine.ts";

describe("a machine that cannot run the lab", () => {
  it("says that it lacks root", (t) => {
    t.mock.method(process as { getuid(): number }, "getuid", () => 1000);
    assert.ok(obstacles(true).some((text) => text.includes("needs root")));
  });
});
