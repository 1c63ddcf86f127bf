/** What `svc` takes from its surroundings: the only place of the command line that reads the environment. */
export interface Environment {
  /** Every variable, for handing on to programs that `svc` starts. */
  readonly variables: Readonly<Record<string, string | undefined>>
  readonly platform: NodeJS.Platform
  readonly home: string
}

export function readEnvironment(home: string): Environment {
  return { variables: process.env, platform: process.platform, home }
}
