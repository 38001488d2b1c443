import assert from "node:assert/strict";
import { test } from "node:test";
import { largestHardware } from "../../../test/support/samples/largest-hardware.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { discoveryNameChars, discoveryProblemChars } from "./discovery/tree.ts";
import { readHardwareAnswer } from "./hardware.ts";
import { discoveryAnswerBytes } from "./nodes/discovery-pods.ts";

test("the largest possible machine is valid, and fits into an answer", () => {
  const text = JSON.stringify(largestHardware);
  assert.ok(Buffer.byteLength(text) <= discoveryAnswerBytes, `${Buffer.byteLength(text)} bytes`);
  assert.deepEqual(readHardwareAnswer(text, "n1"), largestHardware);
});

test("one part or one character more is rejected, with its path", () => {
  const { cpus, gpus, disks, interfaces, problems } = largestHardware;
  const [cpu, gpu] = [cpus[0], gpus[0]];
  const cases: [object, RegExp][] = [
    [{ cpus: [...cpus, cpu] }, /cpus: Too big/],
    [{ gpus: [...gpus, gpu] }, /gpus: Too big/],
    [{ disks: [...disks, disks[0]] }, /disks: Too big/],
    [{ interfaces: [...interfaces, interfaces[0]] }, /interfaces: Too big/],
    [{ problems: [...problems, ""] }, /problems: Too big/],
    [{ problems: ["x".repeat(discoveryProblemChars + 1)] }, /problems\.0: Too big/],
    [{ architecture: "x".repeat(discoveryNameChars + 1) }, /architecture: Too big/],
    [{ cpus: [{ ...cpu, model: `${cpu?.model}x` }] }, /cpus\.0\.model: Too big/],
    [{ gpus: [{ ...gpu, driverModel: `${gpu?.driverModel}x` }] }, /gpus\.0\.driverModel: Too big/],
  ];
  for (const [more, reason] of cases) {
    const text = JSON.stringify({ ...largestHardware, ...more });
    assert.throws(
      () => readHardwareAnswer(text, "n1"),
      (thrown) => ProviderError.is(thrown, "AKP_DISCOVERY_MALFORMED") && reason.test(thrown.message),
      String(reason),
    );
  }
});
