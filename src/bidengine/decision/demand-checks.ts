/** Checks of the order's demands: well-formed group, attributes, auditors, capabilities, tenant and caps. */
import { missingCapabilities, showAttribute, signaturesFor, unsatisfied } from "../../market/attributes.ts";
import { faultsOfEveryManifest } from "../../market/manifest-rules.ts";
import { unitVolumes } from "../../runtime/limits.ts";
import { decisionListed, listed, listedSentences } from "./bounded-text.ts";
import { type BidCheck, byPolicy, type CheckVerdict, fail, pass } from "./decision.ts";
import { type ProviderRecord, withOffer } from "./inputs.ts";

export const groupIsWellFormed: BidCheck = ({ request: { group }, excess, faults }) => {
  if (excess !== undefined) return fail("never", `the group exceeds provider limits: ${excess}`);
  if (faults.length === 0) return pass("the group is within the network's limits", { units: group.units.length });
  return fail("never", `the network does not allow the group: ${listedSentences(faults)}`, { faults });
};

/** By the manifest service's own rules: a lease whose manifest we would reject costs the tenant and us a transaction each. */
export const manifestPossible: BidCheck = ({ request: { group, isOnlyGroup } }) => {
  const faults = faultsOfEveryManifest(group, isOnlyGroup);
  if (faults.length === 0) return pass("a manifest for it can be accepted");
  return fail("never", `every manifest for it would be rejected: ${listedSentences(faults)}`, {
    faults: faults.slice(0, decisionListed),
  });
};

/** By the attributes on the chain, not those of provider.yaml: the chain rejects the bid by them. */
export const attributesMatch: BidCheck = ({ request: { group }, context: { record } }) => {
  const { attributes } = group.requirements;
  const missing = unsatisfied(attributes, record.attributes);
  if (record.state !== "registered") return unregistered(record);
  if (missing.length > 0)
    return fail("attributes", `we do not publish ${listed(missing, showAttribute)}`, evidenceOf(missing));
  if (attributes.length === 0) return pass("the order requires no attributes");
  return pass("we publish every required attribute");
};

function unregistered({ state }: ProviderRecord): CheckVerdict {
  if (state === "unknown") return fail("attributes", "the provider record has not been read from the chain yet");
  return fail("attributes", "we are not registered on the chain: run akash-provider register");
}

/** Every attribute of provider.yaml becomes a demand on the order, as in the Go provider. */
export const configuredAttributesDemanded: BidCheck = ({ request: { group }, context }) => {
  const mode = context.policies.configuredAttributes;
  if (mode === "off") return pass("orders need not require our attributes");
  const missing = unsatisfied(context.configuredAttributes, group.requirements.attributes);
  const reason =
    missing.length === 0
      ? "the order requires all configured attributes"
      : `the order does not require ${listed(missing, showAttribute)}, as our policy demands`;
  const evidence = evidenceOf(missing);
  return byPolicy({ yes: missing.length === 0, dryRun: mode === "dry-run", reason, evidence });
};

export const auditorsMatch: BidCheck = ({ request: { group }, context: { record } }) => {
  const { allOf, anyOf } = group.requirements;
  if (allOf.length + anyOf.length === 0) return pass("the order requires no auditor's signature");
  const { signed, allOfMissing, anyOfMissing } = signaturesFor(group.requirements, record.audited);
  if (signed) return pass("the required auditors have signed the required attributes");
  const missing = allOfMissing.length > 0 ? allOfMissing : anyOfMissing;
  const who = listed(missing);
  const reason =
    allOfMissing.length > 0
      ? `required signatures are missing: ${who}`
      : `signed by none of ${who}, and the order requires one`;
  return fail("attributes", reason, { allOfMissing, anyOfMissing });
};

export const capabilitiesMatch: BidCheck = ({ request: { group }, context: { record } }) => {
  const missing = missingCapabilities(group, record.attributes);
  if (missing.length === 0) return pass("our published capabilities cover its volumes and GPUs");
  const reason = listedSentences(
    missing.map(({ unit, what, wanted }) => `unit ${unit} wants ${what} with ${listed(wanted, showAttribute)}`),
  );
  const evidence = { missing: missing.slice(0, decisionListed).map(({ unit, what }) => ({ unit, what })) };
  return fail("attributes", `we publish no such capability: ${reason}`, evidence);
};

export const volumesWithinLimit: BidCheck = ({ request: { group } }) => {
  const most = unitVolumes;
  const tooMany = group.units.filter(({ storage }) => storage.length > most);
  if (tooMany.length === 0) return pass(`no unit has more than ${most} volumes`, { most });
  const reason = listed(tooMany, ({ id, storage }) => `unit ${id} has ${storage.length} volumes`);
  return fail("never", `${reason}; at most ${most} are allowed`, { most, units: tooMany.map(({ id }) => id) });
};

/** The chain rejects bids on own orders, and with the message all that share its transaction. */
export const tenantAllowed: BidCheck = ({ request: { owner }, context: { provider, policies } }) =>
  owner === provider
    ? fail("never", "it is our own order, and the chain takes no bid from the owner of the order")
    : byPolicy(policies.tenant(owner));

export const withinOfferCaps: BidCheck = ({ request: { group }, fit, context: { policies, capacity } }) => {
  const judgement = policies.caps(withOffer(group, fit?.fits ? fit.offer : []), capacity.sold);
  const verdict = byPolicy(judgement);
  // Released capacity of other leases may be enough.
  return verdict.verdict === "fail" && !judgement.alone ? { ...verdict, until: "room" } : verdict;
};

function evidenceOf(missing: Parameters<typeof showAttribute>[0][]) {
  return { missing: missing.slice(0, decisionListed * 2).map(showAttribute) };
}
