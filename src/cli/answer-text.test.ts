import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "yaml";
import { indentedJson, yamlOf } from "./answer-text.ts";

test("whatever a provider says, a terminal is not told what to do, and what is read from it is the same", () => {
  const said = [
    { plain: "text", "ke\u009by": "a\u001b[2J", turned: "\u202eabc", lines: "one\ntwo\u009b1m\n", count: 3 },
  ];
  for (const text of [indentedJson(JSON.stringify(said)), yamlOf(JSON.stringify(said))]) {
    assert.doesNotMatch(text.replaceAll("\n", ""), /[\p{Cc}\p{Cf}]/u);
    assert.deepEqual(parse(text), said);
  }
});

test("an answer that is not JSON is told as what it is", () => {
  for (const write of [indentedJson, yamlOf])
    assert.throws(() => write("<html>"), { code: "AKP_PROVIDER_ANSWER_UNREADABLE" });
});
