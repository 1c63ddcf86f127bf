/** Every name that contains the brand, derived from one setting. */

export interface BrandNames {
  readonly slug: string
  /** Header with the client's request id, in both directions. */
  readonly requestIdHeader: string
  readonly errorCodeHeader: string
  readonly errorStageHeader: string
  readonly quotaClampedHeader: string
  readonly quotaResetHeader: string
  /** Request fields that were not forwarded to the upstream. */
  readonly fieldsDroppedHeader: string
  readonly keyPrefix: string
  readonly sessionPrefix: string
  /** Prefixes of OAuth access tokens, valid for the tool server only, and of their refresh tokens. */
  readonly appTokenPrefix: string
  readonly appRefreshPrefix: string
  readonly cookie: string
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
    fieldsDroppedHeader: `x-${slug}-fields-dropped`,
    keyPrefix: `${slug}_live_`,
    sessionPrefix: `${slug}_sess_`,
    appTokenPrefix: `${slug}_mcp_`,
    appRefreshPrefix: `${slug}_mcpr_`,
    cookie: `${slug}_membership_session`,
    cliClient: `${slug}-cli`,
    mcpServer: slug,
    searchSchema: `${slug}.search.v1`,
    searchModel: `${slug}-2.1-search`,
  }
}
