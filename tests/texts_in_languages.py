"""Short documents in five languages, written for the tests, and questions about some."""

CHINESE = {
    "江湖诊所": (
        "林晓梅于1968年在绍兴市创办了江湖诊所。"
        "诊所位于鉴湖旁边，由她的丈夫陈国强管理。"
        "林晓梅早年在浙江大学学习医学。"),
    "青石桥": "青石桥建于明朝，位于苏州市。工匠王德顺花了十一年修建这座桥。桥下的运河通向太湖。",
    "海鸥号": (
        "海鸥号是一艘科学考察船，由大连造船厂建造。"
        "船长赵海涛带领船员到达了南极洲。"
        "他们在长城站住了三个月。"),
    "红叶茶": "红叶茶产于福建省武夷山。茶农周阿福发明了新的烘焙方法。红叶茶后来出口到日本和英国。",
    "星河出版社": (
        "星河出版社由作家李文博和画家孙雅琴在北京共同创立。"
        "出版社的第一本书是《沙漠里的灯》。"
        "李文博出生于兰州市。"),
    "铁道博物馆": (
        "铁道博物馆收藏了中国最早的蒸汽机车。"
        "工程师詹天佑设计了京张铁路。"
        "博物馆位于北京市朝阳区。"),
    "白鹭研究所": (
        "白鹭研究所研究湿地的鸟类。"
        "所长是来自英国的生物学家史蒂夫·哈里森。"
        "研究所和厦门大学合作。"),
    "月光乐团": (
        "月光乐团成立于1985年，总部设在广州。"
        "指挥家马思远曾在维也纳学习。"
        "乐团首次演出的作品是《春江花月夜》。"),
}

CHINESE_QUESTIONS = {
    "谁创办了江湖诊所？": "江湖诊所",
    "林晓梅在哪里学习医学？": "江湖诊所",
    "青石桥是谁修建的？": "青石桥",
    "海鸥号的船长是谁？": "海鸥号",
    "哪个造船厂建造了海鸥号？": "海鸥号",
    "红叶茶出口到哪些国家？": "红叶茶",
    "《沙漠里的灯》是哪家出版社的书？": "星河出版社",
    "李文博出生在哪里？": "星河出版社",
    "京张铁路是谁设计的？": "铁道博物馆",
    "谁是白鹭研究所的所长？": "白鹭研究所",
    "史蒂夫·哈里森来自哪个国家？": "白鹭研究所",
    "马思远在哪里学习？": "月光乐团",
}

JAPANESE = {
    "白波酒造": (
        "白波酒造は1890年に広島県で創業した。"
        "創業者の佐藤健一は米作りの農家に生まれた。"
        "現在の社長は孫の佐藤美咲である。"),
    "青葉天文台": (
        "青葉天文台は仙台市の郊外にある。"
        "天文学者の高橋誠が1952年に新しい彗星を発見した。"
        "望遠鏡はドイツで作られた。"),
    "鶴見橋": (
        "鶴見橋は京都の鴨川にかかる橋である。"
        "大工の田中清兵衛が江戸時代に建てた。"
        "橋は1935年の洪水で流された。"),
    "ミナト水族館": (
        "ミナト水族館は神戸港の近くにある。"
        "館長の山本由紀はペンギンの研究者である。"
        "水族館はカリフォルニア大学と協力している。"),
    "桜井書店": (
        "桜井書店は東京の神保町にある古本屋である。"
        "作家の中村一郎は『霧の灯台』をここで書いた。"
        "店主は桜井文子である。"),
    "北斗鉄道": (
        "北斗鉄道は札幌市と小樽市を結ぶ。"
        "技師の鈴木太郎がトンネルを設計した。"
        "鉄道は1921年に開通した。"),
    "さくら製作所": (
        "さくら製作所は小さな歯車を作る会社である。"
        "アメリカ人の技術者マイケル・ジョンソンが工場を指導した。"
        "本社は名古屋市にある。"),
    "琵琶湖合唱団": (
        "琵琶湖合唱団は大津市で結成された。"
        "指揮者の渡辺恵はウィーンで音楽を学んだ。"
        "合唱団は毎年『水の歌』を歌う。"),
}

JAPANESE_QUESTIONS = {
    "白波酒造を創業したのは誰ですか。": "白波酒造",
    "佐藤美咲は何の社長ですか。": "白波酒造",
    "青葉天文台はどこにありますか。": "青葉天文台",
    "高橋誠は何を発見しましたか。": "青葉天文台",
    "鶴見橋を建てたのは誰ですか。": "鶴見橋",
    "ミナト水族館の館長は誰ですか。": "ミナト水族館",
    "『霧の灯台』を書いたのは誰ですか。": "桜井書店",
    "鈴木太郎は何を設計しましたか。": "北斗鉄道",
    "北斗鉄道はいつ開通しましたか。": "北斗鉄道",
    "マイケル・ジョンソンはどの工場を指導しましたか。": "さくら製作所",
    "渡辺恵はどこで音楽を学びましたか。": "琵琶湖合唱団",
    "さくら製作所の本社はどこですか。": "さくら製作所",
}

GERMAN = {
    "Werft": (
        "Die Werft Steinhagen wurde 1871 von Friedrich Steinhagen in Rostock gegründet. Seine "
        "Tochter Helene Steinhagen leitete den Betrieb nach dem Ersten Weltkrieg. Heute gehört "
        "die Werft der Nordsee Holding aus Hamburg."),
    "Sternwarte": (
        "Auf dem Hohenfels steht die Sternwarte der Universität Tübingen. Der Astronom Karl "
        "von Lindau entdeckte hier 1909 einen Kometen. Später arbeitete er in Wien und am "
        "Institut für Physik in Göttingen."),
    "Brauerei": (
        "Die Brauerei zum Goldenen Hirsch braut seit 1654 Bier. Der Braumeister Josef Huber "
        "kaufte sie im Jahr 1920. Das Wasser kommt aus einer Quelle am Untersberg bei Salzburg."),
    "Merkel": (
        "Angela Merkel wurde in Hamburg geboren. Sie studierte Physik in Leipzig. Von 2005 bis "
        "2021 war sie Bundeskanzlerin der Bundesrepublik Deutschland. Ihr Nachfolger ist Olaf "
        "Scholz."),
    "Oper": (
        "Das Opernhaus in Dresden wurde von Gottfried Semper entworfen. Nach dem Zweiten "
        "Weltkrieg lag es in Trümmern. Die Sächsische Staatskapelle spielt dort Werke von "
        "Richard Wagner und Carl Maria von Weber."),
    "Bahn": (
        "Die Bahnstrecke führt von Frankfurt am Main nach Basel. Ingenieurin Greta Vogel "
        "plante die Brücke über den Rhein. Die Züge der Deutschen Bahn halten auch in Freiburg."),
    "Verlag": (
        "Der Verlag Morgenrot erschien zuerst in Zürich. Herausgeberin war Lotte Brandt, eine "
        "Freundin von Thomas Mann. Morgenrot druckte vor allem Gedichte und Märchen."),
    "Insel": (
        "Auf der Insel Sylt lebt die Malerin Anke Petersen. Sie malt das Meer, die Dünen und "
        "die Kirche von Keitum. Ihre Bilder hängen im Museum Folkwang in Essen."),
}

FRENCH = {
    "Moulin": (
        "Le moulin de Saint-Aubin fut construit en 1782 par Étienne Dubois. Il appartient "
        "aujourd'hui à la famille Lefèvre. On y moud encore la farine pour les boulangers de "
        "Rennes."),
    "Observatoire": (
        "L'Observatoire du Mont Clair se trouve près de Nice. L'astronome Camille Roux y "
        "découvrit une comète en 1931. Elle travailla ensuite à l'Université de Paris."),
    "Peintre": (
        "Le peintre Henri de Montfort est né à Lyon. Il a étudié avec Claude Monet à Giverny. "
        "Ses tableaux sont au Musée d'Orsay."),
    "Fromagerie": (
        "La Fromagerie des Alpes produit un fromage doux. Jeanne Perrin la dirige depuis 2004. "
        "Elle vend surtout en Suisse et en Italie."),
    "Navire": (
        "Le navire Espérance partit de Brest en mars 1790. Le capitaine Louis Kervella voulait "
        "atteindre la Nouvelle-Calédonie. Il perdit deux hommes au cap Horn."),
    "Usine": (
        "Renault ouvrit une usine à Flins en 1952. Les ouvriers venaient de toute la "
        "Normandie. L'usine fabriquait la Dauphine, une petite voiture. Les ventes de Renault "
        "doublèrent."),
    "Poète": (
        "Victor Hugo écrivit Les Misérables en exil à Guernesey. Cette île appartient à la "
        "couronne britannique. Hugo revint en France en 1870."),
    "Pont": (
        "Le pont Wilson traverse la Loire à Tours. Il fut détruit pendant la Seconde Guerre "
        "mondiale. L'ingénieur Mathieu Bayeux le répara."),
}

SPANISH = {
    "Molino": (
        "El molino de San Isidro fue construido por Ramón Ortega en 1840. Hoy pertenece al "
        "ayuntamiento de Toledo. Su nieta, Carmen Ortega, escribió un libro sobre él."),
    "Barco": (
        "El barco Santa Lucía salió de Cádiz en 1512. Lo mandaba el capitán Juan de la Vega. "
        "Llegó a La Habana después de cuarenta días."),
    "Pintora": (
        "La pintora Elena Ríos nació en Sevilla. Estudió en la Academia de San Fernando de "
        "Madrid. Sus cuadros cuelgan en el Museo del Prado."),
    "Volcán": (
        "El volcán Cerro Negro está en Nicaragua. La geóloga Lucía Méndez lo estudia desde "
        "1999. Trabaja con la Universidad Nacional Autónoma de México."),
    "Banco": (
        "Banco Aurora abrió su primera oficina en Bilbao. Lo fundó Ignacio Etxeberria con "
        "ayuda de Londres. En 1987 compró Caja del Norte."),
    "Poeta": (
        "Federico García Lorca escribió Bodas de sangre. Fue amigo de Salvador Dalí y de Luis "
        "Buñuel. Murió cerca de Granada en 1936."),
    "Tren": (
        "El tren entre Valencia y Zaragoza pasa por Teruel. El ingeniero Pablo Soler diseñó el "
        "puente. Se inauguró durante la Segunda República."),
    "Vino": (
        "Las bodegas Monteverde están en La Rioja. Su dueña, Isabel Fuentes, vende vino a "
        "Japón y a Alemania. Monteverde ganó un premio en Burdeos."),
}
