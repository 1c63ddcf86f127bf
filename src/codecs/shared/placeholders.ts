/** Texts that stand where an API requires one, and there is none. */
export const emptyResult = '(no output)'
export const openingText = 'Continue.'
