/** What somebody may do in the lab, as the API server itself judges. */
import { callApi } from "../../lab/api.ts";

export interface Deed {
  readonly verb: string;
  /** Of the core group, perhaps with a subresource: "pods/exec". */
  readonly resource: string;
  /** Without one, everywhere. */
  readonly namespace?: string | undefined;
}

export async function mayDo(user: string, { verb, resource, namespace }: Deed): Promise<boolean> {
  const [plural, subresource] = resource.split("/");
  const answer = await callApi("/apis/authorization.k8s.io/v1/subjectaccessreviews", "POST", {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    spec: { user, resourceAttributes: { verb, resource: plural, subresource, namespace } },
  });
  if (answer.status !== 201) throw new Error(`a review was refused: ${answer.status} ${answer.body}`);
  return JSON.parse(answer.body).status.allowed;
}
