/** The reader's choice of colours. */
export const themes = ['auto', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

export function isTheme(value: unknown): value is Theme {
  return themes.some((theme) => theme === value)
}
