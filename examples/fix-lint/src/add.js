var total = 0;
export const add = (n) => (total += n);
