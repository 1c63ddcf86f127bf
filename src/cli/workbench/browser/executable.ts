/** Where a browser of the Chromium family is on this machine. */
import { access, constants } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'
import { WorkbenchError } from '../protocol.ts'

export const chromiumHint =
  'install Chromium: apt install chromium · dnf install chromium · brew install --cask chromium, or set SVC_BROWSER'

const programNames = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'microsoft-edge', 'brave-browser']

const usualPlaces: Readonly<Record<string, readonly string[]>> = {
  darwin: [
    '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
    '/Applications/Chromium.app/Contents/MacOS/Chromium',
    '/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge',
    '/Applications/Brave Browser.app/Contents/MacOS/Brave Browser',
  ],
  win32: [
    'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
    'C:\\Program Files (x86)\\Microsoft\\Edge\\Application\\msedge.exe',
  ],
}

export interface ExecutableInput {
  /** SVC_BROWSER or the configuration file: then it is that one or none. */
  readonly chosen: string | null
  readonly env: Readonly<Record<string, string>>
  readonly platform: string
  /** Where the browser library keeps one of its own, if it has any. */
  readonly bundled?: string | undefined
}

/** Finds a browser of the Chromium family on this machine. Throws `engine_unavailable` with the command that installs one. */
export async function findBrowser(input: ExecutableInput): Promise<string> {
  const { chosen, env, platform, bundled } = input
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
  const onPath = (name: string): readonly string[] => (isAbsolute(name) ? [name] : folders.map((folder) => join(folder, name)))
  const candidates =
    chosen === null
      ? [...(bundled === undefined ? [] : [bundled]), ...programNames.flatMap(onPath), ...(usualPlaces[platform] ?? [])]
      : onPath(chosen)
  for (const candidate of candidates) {
    if (await executable(candidate)) return candidate
  }
  const message = chosen === null ? 'there is no Chromium on this machine' : `there is no browser at ${chosen}`
  throw new WorkbenchError('engine_unavailable', message, { hint: chromiumHint })
}

function executable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  )
}
