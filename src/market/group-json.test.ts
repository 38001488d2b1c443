import assert from "node:assert/strict";
import { test } from "node:test";
import { spec } from "../../test/support/market-messages.ts";
import { decodeGroupSpec } from "../chain/codec/group-spec.ts";
import { groupFromJson, groupToJson } from "./group-json.ts";

test("a group survives JSON", () => {
  const group = decodeGroupSpec(spec());
  assert.deepEqual(groupFromJson(JSON.parse(JSON.stringify(groupToJson(group)))), group);
});
