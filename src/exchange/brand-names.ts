/** Every name that contains the brand, derived from one setting. */

export interface BrandNames {
  readonly slug: string
  /** Header with the client's request id, in both directions. */
  readonly requestIdHeader: string
  readonly errorCodeHeader: string
  readonly errorStageHeader: string
  readonly quotaClampedHeader: string
  /** Unix seconds at which the window of a refusal, or the one with the fewest credits left, resets. */
  readonly quotaResetHeader: string
  /** Credits that the turn cost, its pool, those that it left in that pool's window with the fewest, and that window. */
  readonly quotaChargedHeader: string
  readonly quotaTierHeader: string
  readonly quotaRemainingHeader: string
  readonly quotaWindowHeader: string
  /** Request fields that were not forwarded to the upstream. */
  readonly fieldsDroppedHeader: string
  readonly keyPrefix: string
  /** Of the keys of operators. */
  readonly operatorKeyPrefix: string
  readonly sessionPrefix: string
  /** Prefixes of OAuth access tokens, valid for the tool server only, and of their refresh tokens. */
  readonly appTokenPrefix: string
  readonly appRefreshPrefix: string
  readonly cookie: string
  /** Of the console, which is apart from the member's. */
  readonly operatorCookie: string
  readonly cliClient: string
  readonly mcpServer: string
  readonly searchSchema: string
  readonly searchModel: string
}

export function deriveNames(slug: string): BrandNames {
  return {
    slug,
    requestIdHeader: `x-${slug}-request-id`,
    errorCodeHeader: `x-${slug}-error-code`,
    errorStageHeader: `x-${slug}-error-stage`,
    quotaClampedHeader: `x-${slug}-quota-clamped`,
    quotaResetHeader: `x-${slug}-quota-reset`,
    quotaChargedHeader: `x-${slug}-quota-charged`,
    quotaTierHeader: `x-${slug}-quota-tier`,
    quotaRemainingHeader: `x-${slug}-quota-remaining`,
    quotaWindowHeader: `x-${slug}-quota-window`,
    fieldsDroppedHeader: `x-${slug}-fields-dropped`,
    keyPrefix: `${slug}_live_`,
    operatorKeyPrefix: `${slug}_op_`,
    sessionPrefix: `${slug}_sess_`,
    appTokenPrefix: `${slug}_mcp_`,
    appRefreshPrefix: `${slug}_mcpr_`,
    cookie: `${slug}_membership_session`,
    operatorCookie: `${slug}_operator_session`,
    cliClient: `${slug}-cli`,
    mcpServer: slug,
    searchSchema: `${slug}.search.v1`,
    searchModel: `${slug}-2.1-search`,
  }
}
