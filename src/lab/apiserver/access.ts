// Who may do what, when a test wants to know that its client asks for no more than it is granted: bearer tokens, each with
// rules as in a ClusterRole. Without tokens everybody may do everything.
import type { ApiRequest } from './request.ts';
import { qualifiedName } from './resources.ts';
import { ApiError, forbidden } from './status.ts';

export interface PolicyRule {
  readonly apiGroups: readonly string[];
  /** Plural names, `pods/status` for a subresource, or `*`. */
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

export interface Access {
  readonly token: string;
  readonly user: string;
  readonly rules: readonly PolicyRule[];
}

/** Whose token it is; undefined if the server asks for none. */
export function authenticate(
  grants: readonly Access[] | undefined,
  authorization: string | undefined,
): Access | undefined {
  if (!grants) return undefined;
  const token = /^Bearer (.+)$/i.exec(authorization ?? '')?.[1];
  const found = grants.find((grant) => grant.token === token);
  if (!found) throw new ApiError(401, 'Unauthorized', 'Unauthorized');
  return found;
}

export function authorize(access: Access | undefined, request: ApiRequest): void {
  if (!access || access.rules.some((rule) => permits(rule, request))) return;
  const { verb, resource, namespace, name, subresource } = request;
  const what = subresource ? `${resource.plural}/${subresource}` : resource.plural;
  const where = namespace === undefined ? 'at the cluster scope' : `in the namespace "${namespace}"`;
  const subject = `${qualifiedName(resource)}${name ? ` "${name}"` : ''}`;
  throw forbidden(
    `${subject} is forbidden: User "${access.user}" cannot ${verb} resource "${what}" in API group "${resource.group}" ${where}`,
    { ...(name && { name }), ...(resource.group && { group: resource.group }), kind: resource.plural },
  );
}

function permits(rule: PolicyRule, { verb, resource, subresource, name }: ApiRequest): boolean {
  const what = subresource ? `${resource.plural}/${subresource}` : resource.plural;
  const names = rule.resourceNames ?? [];
  return (
    includes(rule.apiGroups, resource.group) &&
    includes(rule.resources, what) &&
    includes(rule.verbs, verb) &&
    (names.length === 0 || (name !== undefined && names.includes(name)))
  );
}

function includes(list: readonly string[], value: string): boolean {
  return list.includes('*') || list.includes(value);
}
