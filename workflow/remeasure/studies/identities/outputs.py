"""Every output of the study in reading order, article by article: what it is."""

from __future__ import annotations

from remeasure.studies.base import Group, Kind, Output, Study
from remeasure.studies.identities.drawn import FIGURES, TABLES, article_of

#: The articles as people name them.
TITLES = {
    "transformers": "Transformers",
    "bert": "BERT",
    "gpt": "GPT",
    "t5": "T5",
    "bart": "BART",
    "xlnet": "XLNet",
    "roberta": "RoBERTa",
    "distilbert": "DistilBERT",
    "albert": "ALBERT",
    "vit": "Vision Transformer",
}

_SERIES = "an article of the same series by Arko Sengupta"

#: Outputs that only quote, and whom.
_QUOTED = {
    "bert_stat_carry_over": f"{_SERIES}, numbered 82",
    "t5_stat_carry_over": f"{_SERIES}, on BERT",
    "vit_stat_embedding_share": f"{_SERIES}, on BERT",
}

#: Id, title, and what is shown: of figures what is drawn, of numbers what they count.
_DECLARED = (
    (
        "transformers_tab_path_length",
        "Layers that relate two ends",
        "Layers or steps until the two ends of a sequence can depend on each other, against its"
        " length, for a recurrence, convolutions of width 3 and attention.",
    ),
    (
        "transformers_stat_layers",
        "Two thousand layers against one",
        "The same at a length of 4096.",
    ),
    (
        "transformers_stat_local_attention",
        "Attention in windows",
        "Layers of windowed attention that relate both ends.",
    ),
    (
        "transformers_stat_equivariance",
        "Attention is a set function",
        "What is left between permuted attention and attention of permuted rows, without positions"
        " and, as a control, with them.",
    ),
    (
        "transformers_stat_rotation",
        "Positions turn",
        "What is left between the encoding of a later position and the rotated encoding of an"
        " earlier one.",
    ),
    (
        "transformers_tab_pe_dots",
        "Inner products of positions",
        "Inner products of sinusoidal encodings by offset, the same from any position.",
    ),
    (
        "transformers_stat_pe_norm",
        "Length of a position",
        "Squared norm of sinusoidal encodings by width.",
    ),
    (
        "transformers_tab_entropy",
        "Entropy of attention against width",
        "Mean entropy of attention over 16 random keys against the width of queries and keys, with"
        " and without division by the root of the width, both axes logarithmic.",
    ),
    (
        "transformers_tab_entropy_ratios",
        "Entropy at fourfold width",
        "Ratios of unscaled entropies between a width and four times that width.",
    ),
    (
        "transformers_tab_logit_variance",
        "Variance of a logit",
        "Variance of the inner product of a query and a key by width: by formula, and in the draw.",
    ),
    (
        "transformers_stat_single_draw",
        "One draw is not a trend",
        "Entropies of 400 single sequences at each width: their spread, and how often two widths"
        " rank in the wrong order.",
    ),
    (
        "transformers_tab_block_params",
        "Weights of a block",
        "Weights of a block in units of the squared width.",
    ),
    (
        "transformers_tab_ffn_multiplier",
        "Weights by feed-forward width",
        "The same for other widths of the feed-forward layer.",
    ),
    (
        "transformers_tab_totals",
        "Parameters of BERT-base and GPT-2 small",
        "Parameters counted from the sizes alone, and how far they are from the published totals.",
    ),
    (
        "transformers_stat_crossover",
        "Where attention overtakes a convolution",
        "Lengths at which attention costs what a convolution costs, by its quadratic term alone"
        " and with its projections.",
    ),
    (
        "transformers_tab_quadratic_share",
        "Share of the quadratic term",
        "Share of the arithmetic of an attention layer that grows with the square of the length.",
    ),
    (
        "bert_stat_premium",
        "Predictions a pass",
        "What masking 15% of the tokens costs in predictions against predicting every token.",
    ),
    (
        "bert_tab_mask_rate",
        "Pairs of masked and seen tokens",
        "Number of pairs of a masked and a visible token against the share that is masked.",
    ),
    (
        "bert_tab_corruption",
        "Where the masked tokens go",
        "Shares of all tokens that are masked, replaced or left under the 80/10/10 rule.",
    ),
    (
        "bert_stat_nsp",
        "Sentence labels among predictions",
        "Share of the sentence label among all predictions of a pass.",
    ),
    (
        "bert_tab_chains",
        "What the right neighbour adds",
        "Best possible accuracy of predicting a token of nine random Markov chains from its left"
        " neighbour and from both.",
    ),
    (
        "bert_tab_cmi_bound",
        "Gain against information",
        "Gain in accuracy against the information that the right neighbour adds, for twelve"
        " printed chains and a thousand random ones, below the bound from Pinsker's inequality.",
    ),
    (
        "bert_tab_disagreement",
        "Predictions that change",
        "Share of contexts in which the two predictions differ, exact in rational numbers.",
    ),
    (
        "bert_stat_iid",
        "Independent tokens",
        "A control: both accuracies where neighbours say nothing.",
    ),
    (
        "bert_tab_cyclic",
        "Information without gain",
        "A noisy cycle: its right neighbour carries information and adds no accuracy.",
    ),
    (
        "bert_tab_plugin",
        "Counting instead of knowing",
        "Accuracies estimated from 400,000 simulated steps against the closed forms.",
    ),
    (
        "bert_tab_params",
        "Parameters of BERT",
        "Parameters of both sizes, counted tensor by tensor.",
    ),
    (
        "bert_stat_shares",
        "Embeddings and blocks",
        "Shares of embeddings and blocks in both sizes.",
    ),
    (
        "bert_stat_carry_over",
        "Coverage found elsewhere",
        "",
    ),
    (
        "gpt_tab_mask",
        "What the causal mask keeps",
        "Share of the score matrix that a causal mask keeps, by length.",
    ),
    (
        "gpt_tab_mask_cost",
        "What the causal mask discards",
        "Share of an attention layer's arithmetic that is computed and then masked.",
    ),
    (
        "gpt_tab_prefix",
        "Prefixes do not change",
        "Largest change of an output when the sequence goes on after it, by position, with the"
        " causal mask and, as a control, without.",
    ),
    (
        "gpt_tab_kv_speedup",
        "Keys and values kept",
        "Arithmetic of writing a sequence token by token, without and with a cache of keys and"
        " values.",
    ),
    (
        "gpt_tab_kv_memory",
        "Memory of the cache",
        "Size of the cache of keys and values, and where it equals the blocks themselves.",
    ),
    (
        "gpt_tab_drift",
        "Drift of a generated text",
        "Distance between the law of a token that a slightly wrong chain generates and the true"
        " one, against the number of steps, with its limit.",
    ),
    (
        "gpt_stat_saturation",
        "Where the drift ends",
        "Distance of the two stationary laws.",
    ),
    (
        "gpt_tab_temperature",
        "Temperature",
        "Entropy and number of likely tokens of one random law over GPT-2's vocabulary against"
        " temperature.",
    ),
    (
        "gpt_tab_topk",
        "The k most likely tokens",
        "Probability that the k most likely tokens hold together.",
    ),
    (
        "gpt_tab_topp",
        "Tokens for a share of the probability",
        "Fewest tokens that hold a given share of the probability.",
    ),
    (
        "gpt_tab_params",
        "The GPT-2 family",
        "Parameters, shares of embedding and blocks, and quadratic share of four sizes.",
    ),
    (
        "t5_tab_cost",
        "Score entries of two architectures",
        "Attention scores that an encoder-decoder and a causal decoder compute for one input and"
        " output.",
    ),
    (
        "t5_tab_cost_limit",
        "Twice at most",
        "Ratio of the two against the length of the input, with its limit.",
    ),
    (
        "t5_tab_budget",
        "Where the scores are spent",
        "Shares of encoder, cross-attention and decoder.",
    ),
    (
        "t5_stat_naive",
        "Without the causal mask",
        "The same ratio if a decoder computed the scores that it masks.",
    ),
    (
        "t5_tab_reuse",
        "One input, many outputs",
        "Ratio of scores against the number of outputs written for one input.",
    ),
    (
        "t5_stat_stack",
        "Two stacks or a deeper one",
        "Weights of an encoder and a decoder against a decoder-only stack.",
    ),
    (
        "t5_tab_bias_params",
        "Parameters of relative positions",
        "Parameters of one table of relative position biases.",
    ),
    (
        "t5_tab_buckets",
        "Buckets of distances",
        "How many distances share each bucket of relative positions.",
    ),
    (
        "t5_stat_bucket_range",
        "The last bucket",
        "Where the last bucket begins, and what it holds.",
    ),
    (
        "t5_tab_span",
        "Longer spans, shorter targets",
        "Length of the target and its decoder scores against the mean length of a corrupted span.",
    ),
    (
        "t5_tab_block",
        "Weights of a T5 block",
        "Weights of encoder blocks in units of the squared width.",
    ),
    (
        "t5_tab_ratio",
        "Decoder against encoder",
        "Weights of a decoder block, and over those of an encoder block.",
    ),
    (
        "t5_tab_totals",
        "The T5 family",
        "Parameters of five sizes, and how far they are from the published totals.",
    ),
    (
        "t5_stat_carry_over",
        "Gains quoted from BERT",
        "",
    ),
    (
        "bart_tab_bits",
        "Ambiguity of each corruption",
        "Bits that a decoder has to guess after each kind of corruption, on a logarithmic scale.",
    ),
    (
        "bart_stat_position_term",
        "What deletion adds to masking",
        "Bits in the positions of deleted tokens.",
    ),
    (
        "bart_tab_permutation",
        "Orders of sentences",
        "Bits in the order of a document's sentences.",
    ),
    (
        "bart_tab_poisson",
        "Lengths of spans",
        "Probability of each length of a corrupted span, and spans a document.",
    ),
    (
        "bart_tab_reconstruction",
        "Masking against deletion",
        "Share of corrupted tokens that the best decoder restores on random chains after masking"
        " and after deletion, by concentration: exact enumeration, and samples as printed.",
    ),
    (
        "bart_stat_chance",
        "Deletion against chance",
        "How often the exact accuracy after deletion is below guessing.",
    ),
    (
        "bart_tab_full_vs_span",
        "Writing everything again",
        "Decoder scores of BART's full targets against T5's short ones.",
    ),
    (
        "bart_tab_whole",
        "Whole architectures",
        "The same for encoder, decoder and cross-attention together.",
    ),
    (
        "bart_tab_params",
        "Parameters of BART",
        "Parameters of both sizes, counted tensor by tensor.",
    ),
    (
        "xlnet_stat_order",
        "Any order factorises",
        "Largest error of a joint probability rebuilt from conditionals in other orders.",
    ),
    (
        "xlnet_stat_orders_bits",
        "Number of orders",
        "Bits in the order of 512 positions.",
    ),
    (
        "xlnet_stat_excess",
        "Not knowing which position",
        "Loss of a prediction that does not know its position.",
    ),
    (
        "xlnet_tab_pairs",
        "Pairs of positions",
        "The same loss for each pair of target positions.",
    ),
    (
        "xlnet_stat_iid",
        "Independent positions",
        "A control: the loss where all positions have one law.",
    ),
    (
        "xlnet_tab_two_stream",
        "Two streams",
        "Response of both streams of attention to a change of the target's own content, against"
        " the size of the change, for random models.",
    ),
    (
        "xlnet_stat_spread",
        "Spread of the responses",
        "Responses of the content stream to unit changes in 200 directions.",
    ),
    (
        "xlnet_tab_saturation",
        "Attention saturates",
        "Attention that the target pays to itself after the largest change.",
    ),
    (
        "xlnet_tab_partial",
        "Predicting the last part",
        "Context that a prediction has when only the last part of an order is predicted.",
    ),
    (
        "xlnet_tab_context_quantiles",
        "Context by quantile",
        "Quantiles of the context over all predictions of a full order.",
    ),
    (
        "roberta_tab_nsp",
        "The sentence label in bits",
        "Share of the sentence label by count and by bits.",
    ),
    (
        "roberta_tab_static",
        "Tokens never masked",
        "Share of tokens that no pattern masks, against the number of patterns: by formula, and in"
        " simulated patterns.",
    ),
    (
        "roberta_stat_birthday",
        "No mask twice",
        "Number of mask patterns, and the chance that two of them agree.",
    ),
    (
        "roberta_tab_scaling",
        "Loss falls as one over N",
        "Excess loss of a chain estimated from N samples over the law K(K-1)/(2N): exact"
        " expectation, and the range of averages over 400 trials.",
    ),
    (
        "roberta_stat_slopes",
        "Slopes",
        "Slopes of the logarithm of the loss against the logarithm of the data.",
    ),
    (
        "roberta_stat_quadruple",
        "Four times the data",
        "Factors by which the loss falls when the data quadruple.",
    ),
    (
        "roberta_tab_entropy_floor",
        "What data cannot remove",
        "Share of the loss that estimation causes, against the data.",
    ),
    (
        "roberta_tab_batch",
        "Batches",
        "Steps, learning rates and noise of larger batches at one budget of tokens.",
    ),
    (
        "roberta_stat_tokenizer",
        "A larger vocabulary",
        "Parameters that the larger vocabulary adds.",
    ),
    (
        "roberta_tab_length",
        "Short sequences",
        "What training on short sequences first saves and costs.",
    ),
    (
        "distilbert_tab_reduction",
        "What is removed",
        "Parameters of BERT-base by part: what DistilBERT keeps and what it removes.",
    ),
    (
        "distilbert_tab_embedding_share",
        "Share of the embeddings",
        "Share of the embeddings in what is left.",
    ),
    (
        "distilbert_stat_ceiling",
        "How far layers can go",
        "Share reached of what removing all layers would save.",
    ),
    (
        "distilbert_stat_fd",
        "The gradient by differences",
        "Largest deviation of central differences from the gradient of the soft loss.",
    ),
    (
        "distilbert_tab_tau",
        "Gradients against temperature",
        "Mean gradient of the soft loss times the squared temperature, and its ratio when the"
        " temperature doubles, against temperature.",
    ),
    (
        "distilbert_stat_logits",
        "The logits",
        "Spread and range of the random logits.",
    ),
    (
        "distilbert_stat_scale_invariance",
        "Only the ratio counts",
        "The ratio of gradients when logits and temperature are scaled together.",
    ),
    (
        "distilbert_tab_temperature",
        "Soft targets",
        "Entropy of one soft target against temperature.",
    ),
    (
        "distilbert_tab_samples",
        "Labels or distributions",
        "Excess loss of a student of hard labels and of a student of whole rows against the number"
        " of samples, with exact expectations.",
    ),
    (
        "distilbert_stat_coupon",
        "Seeing every state",
        "Steps until every state has been seen.",
    ),
    (
        "distilbert_tab_teacher",
        "A teacher that errs",
        "Error of a student of whole rows over that of its teacher.",
    ),
    (
        "distilbert_tab_compute",
        "Half the layers",
        "Arithmetic saved by half the layers.",
    ),
    (
        "distilbert_stat_width",
        "Half the width",
        "Parameters saved by half the width, and by half the depth.",
    ),
    (
        "albert_tab_breakeven",
        "Where factoring pays",
        "Widest bottleneck of a factored embedding that still saves parameters.",
    ),
    (
        "albert_tab_factor",
        "What factoring saves",
        "Parameters that a factored embedding saves against the width of its bottleneck.",
    ),
    (
        "albert_stat_rank",
        "Rank of the embedding",
        "Largest rank of a factored embedding over the width.",
    ),
    (
        "albert_stat_sharing",
        "One block for all layers",
        "Parameters and arithmetic saved by sharing one block.",
    ),
    (
        "albert_stat_contribution",
        "Sharing or factoring",
        "What either technique saves of BERT-base.",
    ),
    (
        "albert_tab_width_ratio",
        "The same by width",
        "Ratio of the two savings by width.",
    ),
    (
        "albert_tab_decoupled",
        "Parameters against arithmetic",
        "Parameters and attention arithmetic of BERT-large and the ALBERT family.",
    ),
    (
        "albert_tab_iterated",
        "Steps of an iterated layer",
        "Size of each step over the first, when one layer is repeated or each has its own weights,"
        " by depth: median of many seeds.",
    ),
    (
        "albert_tab_residual",
        "The same with residual connections",
        "Last step over the first with residual connections.",
    ),
    (
        "albert_stat_fixed_point",
        "A fixed point",
        "Layers until a repeated layer stands still.",
    ),
    (
        "albert_tab_totals",
        "The ALBERT family",
        "Parameters of four sizes, and how far they are from the published totals.",
    ),
    (
        "albert_stat_sop",
        "Order of two sentences",
        "Share of the sentence-order label by bits.",
    ),
    (
        "vit_tab_tokens",
        "Tokens of an image",
        "Tokens and quadratic share by size of the patch.",
    ),
    (
        "vit_tab_p4",
        "Half the patch",
        "Growth of the quadratic term when the patch halves.",
    ),
    (
        "vit_tab_cost",
        "Cost against the patch",
        "Multiply-accumulates of an attention layer against the size of the patch, by part.",
    ),
    (
        "vit_stat_conv",
        "Patches are a convolution",
        "What is left between the patch embedding and a strided convolution, and a control.",
    ),
    (
        "vit_tab_square",
        "What a patch embedding keeps",
        "Dimensions that the embedding of a patch can keep.",
    ),
    (
        "vit_stat_recover",
        "A patch recovered",
        "Condition of a random square embedding, and the error of undoing it.",
    ),
    (
        "vit_stat_permutation",
        "Shuffled patches",
        "Change of the class token when patches are shuffled, without and with positions.",
    ),
    (
        "vit_tab_arrangement",
        "Arrangements of patches",
        "Bits in the arrangement of an image's patches.",
    ),
    (
        "vit_tab_corner",
        "From corner to corner",
        "Layers until one unit sees the whole image, against its side, for convolutions without"
        " and with strides and for attention.",
    ),
    (
        "vit_tab_params",
        "The Vision Transformers",
        "Parameters of three sizes, and how far they are from the published totals.",
    ),
    (
        "vit_stat_embedding_share",
        "BERT's embeddings",
        "",
    ),
)


def _kind(output: str) -> Kind:
    if output in _QUOTED:
        return "cited"
    if output in FIGURES:
        return "figure"
    return "table" if "_tab_" in output else "number"


def _outputs() -> tuple[Output, ...]:
    found = []
    for article, title in TITLES.items():
        found += [
            Output(
                id=output,
                kind=_kind(output),
                title=name,
                caption=caption,
                minutes=0.0 if output in _QUOTED else 0.01,
                source=_QUOTED.get(output, ""),
                group=article,
            )
            for output, name, caption in _DECLARED
            if article_of(output) == article
        ]
        found.append(
            Output(
                id=next(table for table, of in TABLES.items() if of == article),
                kind="table",
                title=f"How it is checked: {title}",
                caption="Every identity of this article with both of its sides.",
                minutes=0.01,
                group=article,
            )
        )
    return tuple(found)


_CLAIMS = {
    "transformers": (
        "Attention relates any two positions in one layer, ignores their order unless positions"
        " are added, and needs its logits divided by √d: without it, its entropy falls like 1/√d."
        " A block has 12d²+13d parameters, and its arithmetic is mostly linear in the length until"
        " n = 2d.",
        "Formulas against counting, spreading and enumeration; attention against PyTorch; the two"
        " printed simulations repeated draw by draw.",
    ),
    "bert": (
        "A model that sees both neighbours is never worse than one that sees the left one, and the"
        " information in the right neighbour bounds the gain; but information need not help at"
        " all: on a noisy cycle it adds nothing.",
        "Closed forms against sums over every triple, simulated chains and exact fractions; the"
        " bound on printed and random chains.",
    ),
    "gpt": (
        "A causal mask makes outputs independent of what follows, which lets keys and values be"
        " kept; a slightly wrong chain drifts only as far as its stationary law lies from the true"
        " one.",
        "Outputs of whole sequences against outputs of prefixes; formulas against sums over steps;"
        " the limit of the drift against the distance of stationary laws.",
    ),
    "t5": (
        "An encoder-decoder computes at most twice the attention scores of a causal decoder, and"
        " less the more outputs one input has; 12d² a block is sixteen times too small for T5-11B.",
        "Formulas against masks counted entry by entry and tensors counted one by one; buckets"
        " from logarithms against their definition in integers.",
    ),
    "bart": (
        "Deleting tokens hides more than masking them, since their positions are lost too: the"
        " best decoder restores fewer of them on every chain. That it still beats guessing is not"
        " a theorem.",
        "Bits against exact integers; both decoders by enumeration of every document, against"
        " decoding document by document and against samples.",
    ),
    "xlnet": (
        "A joint law factorises in any order. A prediction that does not know which position it is"
        " for loses the divergence of the positions' laws for ever, and the query stream must not"
        " see its own target.",
        "Products of conditionals in all 120 orders against the joint law; two formulas of the"
        " loss; responses bit by bit.",
    ),
    "roberta": (
        "A mask drawn anew never repeats; estimating a chain from N samples costs K(K−1)/(2N)"
        " nats, whatever the chain, once its rare states have been seen.",
        "Probabilities against simulated masks; the expected loss by exact sums over binomial laws"
        " against simulated trials.",
    ),
    "distilbert": (
        "Removing six of twelve layers leaves 61% of the parameters; the soft gradient falls like"
        " 1/τ² for warm temperatures; a student of whole rows needs to see every state once, not"
        " often.",
        "Tensors counted one by one; gradients against differences and their limit; expected"
        " losses by exact sums against simulated students.",
    ),
    "albert": (
        "Sharing one block saves eleven twelfths of the block parameters and no arithmetic;"
        " factoring the embedding pays below a bottleneck of VH/(V+H); a repeated contraction"
        " comes to rest.",
        "Formulas against tensors, matrix products and integer searches; the iterated map over"
        " many seeds.",
    ),
    "vit": (
        "Embedding patches is a convolution with stride P; the quadratic term grows by sixteen"
        " when the patch halves; without positions the class token cannot tell how the patches are"
        " arranged.",
        "Matrix products against PyTorch's convolution and against ranks; receptive fields against"
        " spreading dependencies; totals tensor by tensor.",
    ),
}

STUDY = Study(
    id="identities",
    title="Closed forms and exact experiments on ten Transformer families",
    question=(
        "What of ten Transformer families can be settled by counting, by a formula or by an exact"
        " small experiment, without training anything?"
    ),
    method=(
        "No data and no network: every number is arithmetic, or a small simulation whose seed is"
        " known.",
        "Each claim is computed on two routes that share no code: a closed form against brute"
        " force, enumeration against simulation, a definition against a library. The step stops"
        " when they disagree.",
        "Where the seed of a printed simulation is known, the very draw is repeated; where it is"
        " lost, the row says what is missing and which values are possible.",
        "Rounding residuals are bounded in units of machine epsilon: their digits depend on the"
        " order of summation.",
    ),
    publication=(
        "ten articles by Arko Sengupta in the series “Data Science & Machine Learning”, October"
        " 2026, https://medium.com/@arko_sengupta/"
    ),
    outputs=_outputs(),
    groups=tuple(
        Group(id=article, title=title, text=_CLAIMS[article][0], method=_CLAIMS[article][1:])
        for article, title in TITLES.items()
    ),
)
