/** What the network's tools and its chain made of the SDLs of the recorded leases. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { listRecordings, readJsonRecording, readRecording } from "../../../test/support/recordings.ts";
import { recordedGroups } from "../../../test/support/samples/recorded-groups.ts";
import { sortedJson } from "../sorted-json.ts";
import { readSdl } from "./sdl.ts";

/** The network's command line tool drops the vendor and orders any GPU of NVIDIA. */
const rejectedHere = "objects/gpu-amd/sdl.yaml";
/** A port less, a service more: updates that were rejected, since the groups on chain stay as they are. */
const withOtherGroups = ["objects/update/sdl-6.yaml", "objects/update/sdl-7.yaml"];

test("a recorded SDL becomes the recorded manifest and the groups on chain", () => {
  const paths = listRecordings("objects");
  let compared = 0;
  for (const path of paths) {
    const [, folder, step] = /^(.*)\/sdl(.*)\.yaml$/.exec(path) ?? [];
    const [manifestPath, groupsPath] = [`${folder}/manifest${step}.json`, `${folder}/groups.json`];
    if (!paths.includes(manifestPath) || path === rejectedHere) continue;
    const { manifest, groups } = readSdl(readRecording(path).toString(), path);
    assert.equal(sortedJson(manifest), sortedJson(readJsonRecording(manifestPath)), path);
    if (paths.includes(groupsPath) && !withOtherGroups.includes(path))
      assert.deepEqual(groups, recordedGroups(groupsPath), path);
    compared += 1;
  }
  assert.ok(compared >= 60, `${compared} SDLs`);
});

test("an SDL that the network's tools reject or cut is rejected", () => {
  for (const path of [rejectedHere, "objects/host-steps/host-upper.yaml"]) {
    assert.throws(() => readSdl(readRecording(path).toString()), { code: "AKP_SDL_REFUSED" }, path);
  }
});
