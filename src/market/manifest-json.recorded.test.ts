/** Every manifest that the Go provider took on a real cluster: the same hash, and nothing found wrong with it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { listRecordings, readJsonRecording, readRecording } from "../../test/support/recordings.ts";
import { recordedGroups } from "../../test/support/samples/recorded-groups.ts";
import { readManifest } from "./manifest-json.ts";
import { mismatchOf } from "./manifest-match.ts";
import { faultOfManifest } from "./manifest-rules.ts";

const mostBytes = 1_000_000;

test("a recorded manifest has the hash that stood on chain for it, and matches its groups", () => {
  const recordings = listRecordings("objects").flatMap((path) => {
    const [, folder = "", step = ""] = /^(objects\/[^/]+)\/lease(-\d+)?\.json$/.exec(path) ?? [];
    return folder === "" ? [] : [{ folder, step }];
  });
  let compared = 0;
  for (const { folder, step } of recordings) {
    const { hash } = readJsonRecording<{ hash?: string }>(`${folder}/lease${step}.json`);
    const [path, groups] = [`${folder}/manifest${step}.json`, `${folder}/groups.json`];
    if (hash === undefined || !listRecordings(folder).includes(path)) continue;
    const { manifest, lacks, version } = readManifest(readRecording(path), mostBytes);
    assert.equal(version(), hash, path);
    assert.equal(faultOfManifest(manifest, lacks), undefined, path);
    if (listRecordings(folder).includes(groups))
      assert.equal(mismatchOf(manifest, recordedGroups(groups)), undefined, path);
    compared += 1;
  }
  assert.ok(compared >= 40, `${compared} recordings`);
});
