import { path } from "../formats/plain.ts";
import { group, optional } from "../setting.ts";

export const policiesGroup = group({
  title: "Policies",
  about: "What the operator has decided about bids. docs/operations.md says what a policy file holds.",
  settings: {
    policyFile: optional("policy-file", path, {
      usedBy: ["run", "ask"],
      doc: "A YAML file with tenants, caps and maintenance; it is read again when it changes.",
    }),
  },
});
