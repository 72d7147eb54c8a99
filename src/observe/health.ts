// In: what happened to the proxy, each with its time. Out: the answers of /healthz and /livez.
// How long a change waits is measured with the clock that only goes forward; times that are shown are the wall clock's.
// Load balancers and autoscalers read codes and keys, so those are upstream's to the byte. Losing the API server changes
// neither, since the rules in the kernel go on working; it only adds the key `apiServer`, which says since when.
import { FAMILIES, type Family } from '../lib/ip.ts';
import { NEVER, rfc3339 } from './rfc3339.ts';

export interface HealthState {
  readonly syncPeriodMs: number;
  readonly families: Readonly<Partial<Record<Family, FamilyHealth>>>;
  /** False until a Node was seen. */
  readonly isNodeEligible: boolean;
  /** When the API server was last heard from, while it cannot be reached; wall clock. */
  readonly apiLostAt?: number;
}

interface FamilyHealth {
  /** When the sync loop started or a sync last succeeded; wall clock. */
  readonly lastUpdated?: number;
  /** When the oldest change that no sync has carried out was queued; forward clock. */
  readonly oldestPending?: number;
}

/** One instant, as each clock tells it. */
export interface Instant {
  readonly now: number;
  readonly wallNow: number;
}

export interface HealthAnswer {
  readonly status: 200 | 503;
  readonly body: string;
}

/** What the autoscaler puts on a node it is about to remove: load balancers should stop sending it connections. */
const DELETION_TAINT = 'ToBeDeletedByClusterAutoscaler';

export function startHealth(syncPeriodMs: number): HealthState {
  return { syncPeriodMs, families: {}, isNodeEligible: false };
}

/** A sync was requested. Only the first request since the last success counts: it has waited longest. */
export function queued(state: HealthState, family: Family, now: number): HealthState {
  const health = state.families[family] ?? {};
  if (health.oldestPending !== undefined) return state;
  return { ...state, families: { ...state.families, [family]: { ...health, oldestPending: now } } };
}

/** The sync loop started, or a sync succeeded. */
export function updated(state: HealthState, family: Family, wallNow: number): HealthState {
  return { ...state, families: { ...state.families, [family]: { lastUpdated: wallNow } } };
}

/** Our Node was added or changed. When it vanishes without notice, the last one seen stays in force. */
export function nodeSeen(
  state: HealthState,
  node: { readonly isBeingDeleted: boolean; readonly taintKeys: readonly string[] },
): HealthState {
  return { ...state, isNodeEligible: !node.isBeingDeleted && !node.taintKeys.includes(DELETION_TAINT) };
}

/** The API server cannot be reached; `since` is when it was last heard from, by the wall clock. */
export function apiLost(state: HealthState, since: number): HealthState {
  return state.apiLostAt === undefined ? { ...state, apiLostAt: since } : state;
}

export function apiReached(state: HealthState): HealthState {
  const { apiLostAt: _, ...rest } = state;
  return rest;
}

/** True if no family has left a change waiting for two sync periods. Node eligibility does not matter here. */
export function isHealthy(state: HealthState, now: number): boolean {
  return FAMILIES.every((family) => isFamilyHealthy(state, family, now));
}

export function healthzAnswer(state: HealthState, at: Instant): HealthAnswer {
  const isOk = isHealthy(state, at.now) && state.isNodeEligible;
  return answer(state, at, isOk, { nodeEligible: state.isNodeEligible });
}

export function livezAnswer(state: HealthState, at: Instant): HealthAnswer {
  return answer(state, at, isHealthy(state, at.now), {});
}

function answer(
  state: HealthState,
  { now, wallNow }: Instant,
  isOk: boolean,
  eligibility: { readonly nodeEligible?: boolean },
): HealthAnswer {
  const status = familyStatus(state, now);
  const body = {
    // Readers take this for "seen alive at", so an answer of 200 says now, however long ago the last sync was.
    lastUpdated: isOk ? rfc3339(wallNow) : newestUpdate(state),
    currentTime: rfc3339(wallNow),
    ...eligibility,
    healthy: isHealthy(state, now),
    ...(Object.keys(status).length > 0 && { status }),
    ...(state.apiLostAt !== undefined && { apiServer: { connected: false, since: rfc3339(state.apiLostAt) } }),
  };
  return { status: isOk ? 200 : 503, body: JSON.stringify(body) };
}

function familyStatus(
  state: HealthState,
  now: number,
): Record<string, { readonly lastUpdated: string; readonly healthy: boolean }> {
  const entries = FAMILIES.flatMap((family) => {
    const lastUpdated = state.families[family]?.lastUpdated;
    if (lastUpdated === undefined) return [];
    return [[family, { lastUpdated: rfc3339(lastUpdated), healthy: isFamilyHealthy(state, family, now) }] as const];
  });
  return Object.fromEntries(entries);
}

function isFamilyHealthy(state: HealthState, family: Family, now: number): boolean {
  const { lastUpdated, oldestPending } = state.families[family] ?? {};
  // Before its loop starts a family is healthy, even if changes already wait for it.
  if (lastUpdated === undefined || oldestPending === undefined) return true;
  return now - oldestPending < 2 * state.syncPeriodMs;
}

function newestUpdate(state: HealthState): string {
  const times = FAMILIES.flatMap((family) => state.families[family]?.lastUpdated ?? []);
  return times.length === 0 ? NEVER : rfc3339(Math.max(...times));
}
