/** Words of the pages that show the operator's own texts. */
export const legal = { terms: 'Terms', privacy: 'Privacy', contact: 'Contact' }
