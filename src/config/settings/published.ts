import { z } from "zod";
import { url } from "../formats/addresses.ts";
import type { Format } from "../formats/format.ts";
import { group, inFileOnly, optional, setting } from "../setting.ts";

/** The chain's rule. */
const attributeKey = /^[a-zA-Z][\w/.-]{1,126}[\w*]?$/;

const attribute = z.strictObject(
  {
    key: z
      .string({ error: missingOr("it must be a text") })
      .regex(attributeKey, "it must begin with a letter, then letters, digits or any of _ / . -, 128 at most"),
    value: z.string({ error: missingOr('it must be a text; write "" for an empty one') }),
  },
  { error: "it must have a key and a value" },
);

type Attribute = z.infer<typeof attribute>;

const attributes: Format<readonly Attribute[]> = {
  expects: "each one like {key: region, value: us-west}",
  placeholder: "<attributes>",
  fields: ["key", "value"],
  show: (list) => list.map(({ key, value }) => `${key}=${value}`).join(", "),
  schema: z.array(attribute, { error: "it must be a list of keys and values" }).superRefine(
    (list, context) => {
      const keys = (list as readonly (Partial<Attribute> | undefined)[]).map((each) => each?.key);
      keys.forEach((key, index) => {
        if (key === undefined || keys.indexOf(key) === index) return;
        context.addIssue({ code: "custom", path: [index, "key"], message: "this key stands in the list twice" });
      });
    },
    // Also when something else is wrong with the list: a person wants to hear it all at once.
    { when: ({ value }) => Array.isArray(value) },
  ),
};

const infoShape = z.strictObject(
  {
    email: z.string({ error: "it must be a text" }).optional(),
    website: z.string({ error: "it must be a text" }).optional(),
  },
  { error: "it must have an email or a website" },
);

const info: Format<z.infer<typeof infoShape>> = {
  expects: "it like {email: me@example.com, website: https://example.com}",
  placeholder: "<info>",
  fields: ["email", "website"],
  show: ({ email, website }) => [email, website].filter(Boolean).join(", "),
  schema: infoShape,
};

function missingOr(otherwise: string) {
  return ({ input }: { readonly input?: unknown }) =>
    input === undefined || input === null ? "it is missing" : otherwise;
}

export const publishedGroup = group({
  title: "What the provider says about itself",
  about: "Published on the chain for tenants to see. These stand in provider.yaml only.",
  settings: {
    attributes: setting(inFileOnly, attributes, {
      key: "attributes",
      default: { says: "none", of: () => [] },
      doc: "What the provider is and has; orders ask for these.",
    }),
    hostUri: optional(
      inFileOnly,
      url(["https"], "https://provider.example.com:8443", { credentials: "refused", path: "refused" }),
      { key: "host", doc: "Where tenants reach the gateway." },
    ),
    info: optional(inFileOnly, info, { key: "info", doc: "How to reach the people behind the provider." }),
  },
});
