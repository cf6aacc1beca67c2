"""Which script each code point belongs to: Unicode 12.1 with ICU's numbers of scripts."""

from __future__ import annotations

import base64
import functools
import zlib

import numpy as np

# Runs of code points of one script: a varint of how many, and the script's number; deflated, in base 85.
_RUNS = (
    "c-noITWpla702hy%y-@0Z}(f<Ywxb@U0<*b*x2T3V{V3qK#j~T<*o>+A^(cdKnjVHpd^$gaZw;4NCbi!?&XqJf|Q0dQXg8WRUfKK"
    "t<<zHRbTp8sfyaFPkreB`&dX7Rekt<=ggVQH*@C9nVD3TvP*`Ql=H+<tz}U)@^e$}R}Kx@X;z2CMxsolkw}RwB$bIx5*^KCWfXaZ"
    "=ne6;+!kNZXEa6(+ff=LSkmO9+GOE2W#DL0E{TX}jzL)`q0UG}iyWZdt)p(ivTpY79?|n>MVQ!5efzvuHS(_t+Mm#nCj^=9MQGs|"
    "zHULD{W|pKP)i(YRSB)7-D+r3qV5r~2A1WZVYk+&%~BUQESHHX2;2f~1@@!v5&a1Mm(pp}n}T84gQYEzaUq1s3j&hJ67h&8PF^Ey"
    "*bQ~b=V2+cc`t2aYMgJ4^CBhc9?`^MIcV5T&8M`F?8RCL-NX6z7#K=RnUsa-R8Q;%*&Yk$Q5*id$0ZS3dK~0>`ESxn3cUt?qilOU"
    "=u~&8bMC!9>vAo$kX8~Br-id?*lY`X5J`2N*6WrWY=tW$hAe1Ew_;JKXjF*q5)``(+9(4eT^b(C(#42L%k1CfBBb4PWwEr6QK;Jc"
    "W<j^HwoN~h(&oZa_lQYtU)1MPn}*Y{yVOHs+v-@?FX-*J=uf2}PrQDsbpI?|miE3ZyJQ`rF*hs9W{>IO`V3c@;Y=x|q0er}uK!V&"
    "ryOtSYe+p~P|3L1=4!a)m^0APVK7xUDpU86o5Ly0$)IJfRsos^v&ao`0YndF@nkC}-|D95s#a1J6;!z;RTn#}9_CgZtQ`nZ8xdqj"
    "Y>JF95Jox|(gh1M7@V-EOt{EQFia-ut?f(brX?%)3p(~|WcG7x5>d~~BsQ$D7+PVl>bZq0eb|*_TMY8VY#I4x;PZd<jLG`X`7k0X"
    "M?A4g#3e>)anV<HBJoH0wIo*-e{ET!rNR)BW4c^ohH*(>L;8*E@{k&BizxFXO4|sUD3dG{kSu?)T`?mtmFe`$q=sDCpsot&l05pD"
    "wKx?fJt<d7tY(*uvN-3cGCQ>3vZs#edH>|Dvya9o`!6EHV-Kj8k9ZC|@4tg#Y#AedSp-?unhDa~{(sc{jcOE?Sg<qB;tvv6IBgzG"
    "B{5TBTvkDBMHhW#WBLx;nz<vQm1!2Wt3+9HFxL@0S>!=gRmVZE%A!!JvAjyviksDNNwA}IOVs@ZaY)<e*Ca0BR506M$?O0l-}#~b"
    "dNcO=JC6J4R!?*J!{y}&%7aTSLgiv?myfjvePj>1sE6}5a#kCApUps??I;>dPjlfaoM!r&uC+6%uMQBcW*ic`y57F#wKh1fwH^-P"
    "GQ1z~g;VD8W(m0CAvU@54zt%`7uUBJvuG_^j22&CjlbzwV}INSubhQr98{VZ97Kq25H@{F$M~z(n%lZcYb@3Sh$st^tRNEY_t1Au"
    "#3sJw<uD_x=2Ez;53an73QMAf=+YXO<reiL49gx{dMf0$FgK41Dx`^Mk{{KGM!Ruz)IkzEL&_jf8`JnpZpL9+M2_<eJ!3HXjXXrE"
    "tmy3wU^=Tg?%z%aor}1nMZL={qUCe2DHvJMIiLQR@1pkyHf7+uJ{Df0-!GjOe4@7oC~XblZ#~bfHO#dP3kHcEW{ynDr6W8AN9w0*"
    "@AwGb89~!k)?RhsTy5XYHoGea7_SFbp}wu{ltuF?jd`c+INOXn@F@-H80Y%O83^MZ0#bjY{&pSxFEM$%6kzf5^vv_6S9mgCX?mHx"
    "UM?Qxy>~PV@8~A1-?0P>Hspv0cf-JaAL0EQ8a4fG!N5;^%=zSoV0zM`bCN!pT>T=~_9Cy_^B%(UE*8BYh+hcMe>uSPIqu~-J}bI1"
    "D1N|&elQ8|Iz2`#$&<`=7ZdL~2;XJ8Kf%l41WyVnQTK=@4iO0&HHOFuUV0~ZgsFQc3|qV<*!3Zs5&dBo)?MVhFLI`fIrqLB-FWO;"
    "2H`aqxoQ)}-e=|ei&4G8jCh5Y*Oi~~h4Q1Pu=Pw9a^{%Ex{tVPcQrchc3}MbGrSjX35G~?D@4aFW}@4i;%%01uZMSs|0IKVxIYa&"
    "xWixEapB%$napZP_a5DJ?>_zYV~%>k+xIjM?&AvgW$+8x_tO^K@gM(P4ZpJA`*aOHwZ}cw&hn(3<v~5W7oBf1w%-h~b}B?TMF)|V"
    "DF;nccOC5hcpo0ylfm$w0^&WZAQ$AlPW*lNLWF-f7fyW@Qo5*{H{+yv@AV>{nc;I`h9N)032`cR#;QN{;a|)O=;v`+p^U`JXU_7Z"
    "Q(2i%tymjf;AS#WZRa&sRx^UH@qj%}v`UVpPGyqsvP#lpnjFB%^!zf|8s+x1EJ?0pn+J#V_esa=$!ESg=^V<#ImGZd^xF^~({((i"
    "Q>lqF_E{dkl#`6Cld~~(laX_i&bi6(`HK2A|IRE?B|3eM>f}iZz9UongC{B@N85(}0Q05xU*=(5GKSX}>*09G*s*rfF`QIi$o6k*"
    "3^G|fMPKE)sO0`im__I2xa2*oTdu}YQPQkcE^Qkq-ajgWtLWs<Je5gXCW-I}N7<?R)4VjM{M0r;*{QaqHa`1#!zGS4snh#8V$#M?"
    "j;Ote)R_$a_!}M1#>e$IgFg$C^YNiL!beNvOKrGl<G;K$$gZ8(tBwgi7did!4E_U-6eq?"
)


@functools.cache
def scripts() -> np.ndarray:
    """Returns the script's number for every code point."""
    data = zlib.decompress(base64.b85decode(_RUNS))
    counts, numbers = [], []
    at = 0
    while at < len(data):
        count = shift = 0
        while True:
            count |= (data[at] & 127) << shift
            shift += 7
            at += 1
            if data[at - 1] < 128:
                break
        counts.append(count)
        numbers.append(data[at])
        at += 1
    return np.repeat(np.array(numbers, np.int32), counts)
