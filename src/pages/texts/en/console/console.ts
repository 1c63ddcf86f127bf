/** The pages of the operator's console. */
export const console = {
  sectionsTitle: 'Sections of the console',
  sections: { session: 'Session' },
  toSite: 'To the website',
}
