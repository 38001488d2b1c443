import assert from "node:assert/strict";
import { test } from "node:test";
import { AuditedProvider } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import { digits, spec, unit } from "../../../../../test/support/market-messages.ts";
import { capabilitiesMatch, requirementsMatch } from "./matching.ts";

function attributes(...texts: string[]): { key: string; value: string }[] {
  return texts.map((text) => {
    const [key = "", value = ""] = text.split("=");
    return { key, value };
  });
}

const requirements: readonly [
  string,
  { own: string[]; need: string[]; allOf?: string[]; anyOf?: string[] },
  boolean,
][] = [
  ["nothing is needed", { own: [], need: [] }, true],
  ["one of several is needed", { own: ["a=1", "b=2"], need: ["b=2"] }, true],
  ["another value is needed", { own: ["a=1"], need: ["a=2"] }, false],
  ["one of two is missing", { own: ["a=1"], need: ["a=1", "b=1"] }, false],
  ["one of two values will do", { own: ["a=1", "a=2"], need: ["a=2"] }, true],
  ["a pattern matches within a part", { own: ["feature/ssd/fast=true"], need: ["feature/*/fast=true"] }, true],
  ["a pattern stops at a slash", { own: ["feature/ssd/fast=true"], need: ["feature/*=true"] }, false],
  ["a dot is a dot", { own: ["axb=1"], need: ["a.b=1"] }, false],
  ["all auditors have signed", { own: [], need: ["a=1"], allOf: ["x", "y"] }, true],
  ["one auditor has signed something else", { own: ["a=1"], need: ["a=1"], allOf: ["x", "z"] }, false],
  ["any auditor will do", { own: [], need: ["a=1"], anyOf: ["nobody", "y"] }, true],
  ["no auditor has signed", { own: ["a=1"], need: ["a=1"], anyOf: ["nobody"] }, false],
  ["all of some and any of others", { own: [], need: ["a=1"], allOf: ["x"], anyOf: ["z"] }, false],
];

const signed = [
  AuditedProvider.fromPartial({ auditor: "x", attributes: attributes("a=1") }),
  AuditedProvider.fromPartial({ auditor: "y", attributes: attributes("a=1", "b=1") }),
  AuditedProvider.fromPartial({ auditor: "z", attributes: attributes("a=2") }),
];

for (const [what, { own, need, allOf = [], anyOf = [] }, expected] of requirements) {
  test(`requirements: ${what} → ${expected}`, () => {
    const group = spec({ requirements: { signedBy: { allOf, anyOf }, attributes: attributes(...need) } });
    assert.equal(requirementsMatch(group, attributes(...own), signed), expected);
  });
}

const a100 = "vendor/nvidia/model/a100=true";
const h100 = "vendor/nvidia/model/h100=true";
const capabilities: readonly [string, { own: string[]; gpu?: string[]; gpus?: number; volume?: string[] }, boolean][] =
  [
    ["a plain unit needs nothing", { own: [] }, true],
    ["any gpu will do", { own: [], gpus: 1 }, true],
    ["a certain gpu", { own: [`capabilities/gpu/${a100}`], gpus: 1, gpu: [a100] }, true],
    ["another gpu", { own: [`capabilities/gpu/${h100}`], gpus: 1, gpu: [a100] }, false],
    ["one of two gpus", { own: [`capabilities/gpu/${h100}`], gpus: 1, gpu: [a100, h100] }, true],
    [
      "any model of a vendor",
      { own: [`capabilities/gpu/${h100}`], gpus: 1, gpu: ["vendor/nvidia/model/*=true"] },
      true,
    ],
    ["a volume in one kind", { own: ["capabilities/storage/1/class=beta3"], volume: ["class=beta3"] }, true],
    [
      "a volume whose properties are spread over two kinds",
      {
        own: ["capabilities/storage/1/class=beta3", "capabilities/storage/2/persistent=true"],
        volume: ["class=beta3", "persistent=true"],
      },
      false,
    ],
    [
      "a capability that is named too deep",
      { own: ["capabilities/storage/1/x/class=beta3"], volume: ["class=beta3"] },
      false,
    ],
  ];

for (const [what, { own, gpu = [], gpus = 0, volume = [] }, expected] of capabilities) {
  test(`capabilities: ${what} → ${expected}`, () => {
    const plain = unit(1);
    const resource = {
      ...plain.resource,
      gpu: { units: digits(gpus), attributes: attributes(...gpu) },
      storage: [{ name: "data", quantity: digits(2 ** 30), attributes: attributes(...volume) }],
    };
    assert.equal(capabilitiesMatch(spec({ resources: [{ ...plain, resource }] }), attributes(...own)), expected);
  });
}
