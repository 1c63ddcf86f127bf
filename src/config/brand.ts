/** Every name that carries the maker's, from one setting. */

export interface Names {
  readonly slug: string
  /** Header by which a caller traces a request, both ways. */
  readonly requestIdHeader: string
  readonly errorCodeHeader: string
  readonly errorStageHeader: string
  readonly quotaClampedHeader: string
  readonly quotaResetHeader: string
  /** Fields of a request that were left out on the way to the upstream. */
  readonly fieldsDroppedHeader: string
  readonly keyPrefix: string
  readonly sessionPrefix: string
  /** What programs are given that a member let in: for the tool server alone, and for a new one of those. */
  readonly appTokenPrefix: string
  readonly appRefreshPrefix: string
  readonly cookie: string
  readonly cliClient: string
  readonly mcpServer: string
  readonly searchSchema: string
  readonly searchModel: string
}

export function namesOf(slug: string): Names {
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
