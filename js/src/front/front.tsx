// The top of a view: the sentence with what the chosen head looks at, and beside it what the model answers.

export const Front = () => null;
