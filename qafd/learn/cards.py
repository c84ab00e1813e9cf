"""The words and graphs of the page Learn in the order of reading."""

from qafd.learn.card import Card, Settings, Toy

STREET = Toy(
    {"Well": (0.05, 0.5), "Ann": (0.4, 0.28), "Ben": (0.4, 0.75), "Cleo": (0.85, 0.5),
     "Dan": (1.25, 0.5), "Eve": (1.57, 0.5)},
    (("Well", "Ann", 1.0), ("Well", "Ben", 0.25), ("Ann", "Cleo", 1.0), ("Ben", "Cleo", 1.0),
     ("Cleo", "Dan", 0.5), ("Dan", "Eve", 0.5)))

STATION = Toy(
    {"Library": (0.05, 0.5), "Station": (0.5, 0.5), "Cafe": (0.35, 0.06), "Kiosk": (0.75, 0.06),
     "Hotel": (0.35, 0.94), "Taxi": (0.75, 0.94), "Square": (1.05, 0.5), "Museum": (1.55, 0.5)},
    (("Library", "Station", 1.0), ("Station", "Cafe", 1.0), ("Station", "Kiosk", 1.0),
     ("Station", "Hotel", 1.0), ("Station", "Taxi", 1.0), ("Station", "Square", 1.0),
     ("Square", "Museum", 1.0)))

APPLES = Toy(
    {"Steve Jobs": (0.05, 0.5), "iPod": (0.35, 0.06), "Mac": (0.35, 0.94),
     "iTunes": (0.72, 0.06), "Apple Inc.": (0.65, 0.55), "apple (fruit)": (1.1, 0.55),
     "Fuji": (1.2, 0.06), "cider": (1.55, 0.35), "orchard": (1.4, 0.94)},
    (("Steve Jobs", "Apple Inc.", 0.9), ("Steve Jobs", "iPod", 0.7), ("Steve Jobs", "Mac", 0.7),
     ("Apple Inc.", "Mac", 0.8), ("Apple Inc.", "iTunes", 0.4), ("iPod", "iTunes", 0.4),
     ("Apple Inc.", "apple (fruit)", 1.0), ("apple (fruit)", "Fuji", 0.8),
     ("apple (fruit)", "cider", 0.7), ("apple (fruit)", "orchard", 0.7), ("cider", "orchard", 0.4)),
    {"Steve Jobs": 0.9, "iPod": 0.8, "Mac": 0.8, "iTunes": 0.7, "Apple Inc.": 0.9,
     "apple (fruit)": 0.1, "Fuji": 0.1, "cider": 0.1, "orchard": 0.1},
    ("Steve Jobs", "iPod", "Mac", "iTunes", "Apple Inc."))

SQUARE = Toy(
    {"A": (0.1, 0.5), "B": (0.6, 0.1), "C": (0.6, 0.9), "D": (1.1, 0.5), "E": (1.5, 0.5)},
    (("A", "B", 1.0), ("A", "C", 1.0), ("B", "D", 1.0), ("C", "D", 0.5), ("D", "E", 1.0)))

CLUBS = Toy(
    {"r1": (0.6, 0.45), "r2": (0.5, 0.95), "r3": (0.32, 0.04), "r4": (0.05, 0.8),
     "r5": (0.05, 0.25), "o1": (0.95, 0.4), "o2": (0.9, 0.8), "o3": (1.2, 0.08),
     "o4": (1.25, 0.5), "o5": (1.55, 0.3), "o6": (1.2, 0.95), "o7": (1.55, 0.8)},
    (("r1", "r2", 1.0), ("r1", "r3", 1.0), ("r2", "r4", 1.0), ("r3", "r5", 1.0), ("r4", "r5", 1.0),
     ("r1", "o1", 1.0), ("r3", "o3", 1.0), ("r2", "o2", 1.0), ("o1", "o2", 1.0), ("o1", "o3", 1.0),
     ("o1", "o4", 1.0), ("o2", "o4", 1.0), ("o2", "o6", 1.0), ("o3", "o5", 1.0), ("o4", "o5", 1.0),
     ("o4", "o6", 1.0), ("o5", "o7", 1.0), ("o6", "o7", 1.0)),
    {"r1": 1.0, "r2": 0.95, "r3": 0.95, "r4": 0.95, "r5": 0.95, "o1": 0.02, "o2": 0.02,
     "o3": 0.02, "o4": 0.02, "o5": 0.02, "o6": 0.02, "o7": 0.02},
    ("r1", "r2", "r3", "r4", "r5"))

SUPPLIERS = Toy(
    {"Ghent": (0.1, 0.1), "certified": (0.1, 0.5), "late": (0.1, 0.9), "Arden": (1.4, 0.1),
     "Bolt": (1.4, 0.9), "Crown": (0.8, 0.5), "Delft": (1.5, 0.5)},
    (("Arden", "Ghent", 1.0), ("Arden", "certified", 1.0), ("Bolt", "certified", 1.0),
     ("Bolt", "late", 1.0), ("Crown", "Ghent", 1.0), ("Crown", "certified", 1.0),
     ("Crown", "late", 1.0), ("Delft", "Ghent", 1.0), ("Delft", "late", 1.0)))

SOUGHT = ("Ghent", "certified", "late")  # conditions on one of the suppliers

CARDS = (
    Card(
        "buckets", "Pipes and buckets",
        "Think of every node as a bucket and of every edge as a pipe. The question pours water "
        "into one bucket, the *Well*. A bucket that is too full keeps what it can hold and sends "
        "all the rest through its pipes, more through the wide ones. This is repeated until as "
        "good as nothing overflows. The buckets that ended up full are what is retrieved.",
        "Ann gets four times as much as Ben in the first push, because her pipe is four times as "
        "wide. Water also runs back: the Well overflows again and again. The curve of the excess "
        "never rises.",
        "Press *Reset* and choose another order. Does the end depend on which bucket was emptied "
        "first?",
        "No. The way there differs, the end does not: problem (5) has one solution, and every "
        "order of pushes runs into it.",
        r"\begin{gathered} x_v \leftarrow x_v + \frac{m_v - T_v}{w_v}, \quad m_v \leftarrow T_v, "
        r"\\ m_u \leftarrow m_u + (m_v - T_v)\,\frac{w_{uv}}{w_v} \end{gathered}",
        "Section 2.2, Definition 1 and Algorithm 2, lines 5 to 14.",
        STREET, Settings(mass=4.0, source="Well"), {"mass": (1.0, 5.5)}),
    Card(
        "capacity", "What a bucket can hold",
        "How much a node keeps is its *sink capacity*. Give every bucket the same size and the "
        "water travels far. Make the bucket as large as the number of its pipes and a busy place, "
        "here the *Station*, swallows a lot before it passes anything on.",
        "With equal buckets the water runs through the Station into every street around it. With "
        "size = number of pipes the Station alone could hold 6, and all behind it stays dry.",
        "A hub such as *United States* is linked with everything. Which choice keeps it from "
        "flooding its neighbors?",
        "Capacity = degree, the choice of the paper: a hub absorbs in proportion to its links. "
        "The price is that it uses up much of the mass. With equal buckets, one unit of mass buys "
        "one node.",
        r"m_v \le T_v, \qquad T_v = \deg(v) \ \text{ or } \ T_v = 1",
        "Section 2.2, after Eq. (3); Algorithm 2, line 2.",
        STATION, Settings(mass=4.0, source="Library"),
        {"capacity": ("unit", "degree"), "mass": (1.0, 7.5)}),
    Card(
        "mass", "Mass and flooding",
        "Nothing is lost on the way: what is poured must stand somewhere in the end. So the amount "
        "decides how much is retrieved. Raise it and the full region grows, bucket by bucket; it "
        "never gives one back.",
        "Each node has an exact amount at which it becomes full; the table lists them. Beyond the "
        "fifth node the company is full, and the surplus has nowhere to go but to the fruit.",
        "How many of these buckets can 3.9 units fill at most?",
        "Three. A full bucket holds exactly its capacity, here 1, so the capacity of what is "
        "retrieved never exceeds the mass that was poured.",
        r"\sum_{v \in \operatorname{supp}(x)} T_v \;\le\; \lVert\Delta\rVert_1",
        "Section 3, Lemma 2 (its count of nodes holds when every capacity is at least 1).",
        APPLES, Settings(mass=4.0, variant="product", source="Steve Jobs"), {"mass": (1.0, 8.5)}),
    Card(
        "gates", "Gates that know the question",
        "The question is about products of a company whose name is also a fruit. A query-aware "
        "weight makes a pipe narrow when its ends have little to do with the question. Switch "
        "between a weight that ignores the question (*plain*) and one that multiplies in both ends "
        "(*product*).",
        "With 5 units and *plain*, more stands in the fruit than in iTunes; with *product* it is "
        "the other way round. With 8 units the fruit is full under every weight: a gate decides "
        "the order of filling and its price, not whether the surplus leaks.",
        "The gate to the fruit is nearly shut, yet with enough mass the fruit fills. Why does a "
        "narrow pipe not hold the water back?",
        "Because mass is conserved. The height of the water, x, rises until even the narrow pipe "
        "carries the surplus. Only pouring less keeps it out.",
        r"\begin{gathered} w_{\text{product}} = H(u,v)\, H(u,q)\, H(v,q), \\ "
        r"w_{\text{hybrid}} = H(u,v) \times{} \\ \bigl(a + b\,(H(u,q) + H(v,q))\bigr) "
        r"\end{gathered}",
        "Section 2.2, Eq. (1) and (2a) to (2c).",
        APPLES, Settings(mass=5.0, variant="plain", source="Steve Jobs"),
        {"variant": ("plain", "mean", "hybrid", "product"), "mass": (1.0, 8.5)}),
    Card(
        "push", "Push it yourself",
        "Now you are the algorithm. A blue bucket overflows: click it (or reach it with Tab and "
        "press Enter) and it passes its surplus on. Go on until almost nothing overflows.",
        "A bucket that you have emptied may overflow again when its neighbors push back. Your "
        "number of pushes depends on your choices, the end does not.",
        "Which blue bucket should you take to be done soonest?",
        "Taking the fullest one is a good rule on graphs like these; first come, first served is "
        "close. Algorithm 2 takes a random one, which makes its analysis easy.",
        r"\begin{gathered} \textbf{while } \textstyle\sum_v \max(0,\, m_v - T_v) > \epsilon: \\ "
        r"\text{push some } v \text{ with } m_v > T_v \end{gathered}",
        "Section 2.2, Algorithm 2, lines 4 and 5.",
        SQUARE, Settings(mass=3.5, source="A"), mode="push"),
    Card(
        "certificate", "Duality and the certificate",
        "How can you know that an answer is right without trusting the program that found it? By "
        "three checks that anybody can do: no bucket overflows; no height is negative; and where "
        "the height is above zero, the bucket is exactly full. Heights that pass all three solve "
        "the problem. Spoil the largest height and watch which check breaks.",
        "The last column adds up to the *duality gap*. It is 0 for the solution. Move the slider "
        "off 1 and neighbors overflow or a full bucket drains.",
        "The certificate of a retrieval is perfect. Does it follow that the retrieved nodes answer "
        "the question?",
        "No. It proves that the water stands where the weights, seeds and amounts make it stand. "
        "Whether these fit the question is a matter of embeddings and data.",
        r"\begin{gathered} m = \Delta - Lx, \quad m \le T, \\ x \ge 0, \quad x^{\top}(T - m) = 0 "
        r"\end{gathered}",
        "Section 2.2, Eq. (3) to (5), and the remarks below Algorithm 2.",
        SQUARE, Settings(mass=3.5, source="A"), {"spoil": (0.5, 1.5)}, "exact"),
    Card(
        "guarantee", "What a guarantee needs",
        "Suppose five nodes (r1 to r5) are what the question needs. Pour a little more than they "
        "can hold: their capacity times 1 + beta. Theorem 7 promises that all five fill up and "
        "that what spills over is at most beta times their capacity. Move the source and open the "
        "gates to see what the promise rests on.",
        "With the source inside and *product* weights the promise holds. Pour outside and some "
        "of the five stay empty. Open the gates (*plain*) and the mass leaves before they are "
        "full. Once they are full, the bound on the spill is nothing but conservation of mass: "
        "what was poured on top stands outside, in buckets that are full or not.",
        "Which two conditions does a user of a real system never know to hold?",
        "That the seeds lie inside the relevant set, and that the embeddings separate it from the "
        "rest. The amount to pour needs the size of that set as well.",
        r"\begin{gathered} \mathcal R \subseteq \operatorname{supp}(x), \\ "
        r"\sum_{u \in \operatorname{supp}(x) \setminus \mathcal R} T_u \;\le\; "
        r"\beta \sum_{u \in \mathcal R} T_u \end{gathered}",
        "Section 3, Definition 5, Lemma 6 and Theorem 7, Eq. (9).",
        CLUBS, Settings(mass=0.2, capacity="degree", variant="product", source="r1"),
        {"variant": ("product", "plain"), "source": ("r1", "o5"), "mass": (0.05, 0.6)}),
    Card(
        "family", "From a walk to a flow",
        "HippoRAG ranks by PageRank, the probabilities of a walk, and QAFD by flow. One slider joins "
        "them. At 0 buckets hold nothing, and a walk loses a share of its mass at every step, "
        "wherever it is. At 1 nothing is lost, and mass stays only where there is room. Between "
        "them both happen; with buckets as large as their number of pipes this is l1-regularized "
        "PageRank. The disc is what stays at a node, green where that is more than t of the ring.",
        "At 0 a little stays everywhere, even with *Eve*. Raise the slider: she drops out, and "
        "the mass gathers in buckets that are full.",
        "Which end finds more of the right passages?",
        "It depends on the mass. A little fills too few buckets to rank five passages, where a walk "
        "still reaches more. With more mass the flow finds as many, and spends none of it far away. "
        "Lab's tab *Family* counts both on the questions of a sample.",
        r"\begin{gathered} \tfrac12 \textstyle\sum w_{uv} (x_u - x_v)^2 + \tfrac{1-t}2 \delta \sum d_v "
        r"x_v^2 \\ + \textstyle\sum (t\, T_v - \Delta_v)\, x_v \end{gathered}",
        "None; problem (5) is its end t = 1. Section *From PageRank to flow* of the research notes.",
        STREET, Settings(mass=3.5, source="Well"), {"share": (0.0, 1.0), "mass": (1.0, 5.5)}, "exact"),
    Card(
        "conditions", "When all conditions must hold",
        "Which supplier is in Ghent, certified, and was late? Three suppliers meet two of the "
        "conditions, only *Crown* meets all three. Water poured at one condition reaches whatever "
        "is joined to it, and does not ask for the other two. Exact retrieval goes another way: it "
        "takes the suppliers of each condition and keeps those that all three lists share.",
        "Pour at each of the three: the suppliers of that condition fill, and Crown is one among "
        "them. No single source tells it from the others; the intersection of the three does. "
        "The table has the three lists and what they share.",
        "When is flow the better choice, although it does not count conditions?",
        "When the question names no conditions, or the documents do not say all of them: an "
        "intersection with something that is missing is empty, while flow still finds what is "
        "near. Exact retrieval then lists what meets most conditions, and says so.",
        r"\begin{gathered} \{v : (v, c_1) \in E\} \cap \dots \\ "
        r"\dots \cap \{v : (v, c_k) \in E\} \end{gathered}",
        "Section 4.3 of SG-RAG; the method exact on the pages Compare and Explore.",
        SUPPLIERS, Settings(mass=4.5, source="Ghent"),
        {"source": ("Ghent", "certified", "late"), "mass": (1.0, 6.5)}),
)
